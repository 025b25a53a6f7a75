"""From the bytes of a text file to text, and what a report text looks like."""

from __future__ import annotations

import codecs
import re
from typing import Final

_SAMPLE: Final = 512
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The title may be wrapped. Without a title the head of the table will do: a bar, the first heading, and the last two.
_TITLE: Final = re.compile(r"DynamicDispatch\s+Offload\s+-")
_HEADINGS: Final = re.compile(r"[|│┃║]\s*Op Type\s*[|│┃║]\s*(Count|Name)\s*[|│┃║]\s*Inputs\s*[|│┃║]\s*Outputs")


def decode_text(data: bytes) -> str:
    """Decode a text file: UTF-8, UTF-16 (PowerShell's `>`, with or without a byte order mark), else Windows-1252.

    Bytes that mean nothing become U+FFFD. A report redirected on Windows is Windows-1252: its `…` is the byte 0x85.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    sample = data[:_SAMPLE]
    # Half of the bytes of English text in UTF-16 are zero.
    if sample.count(0) > len(sample) // 3:
        high_bytes_second = sample[1::2].count(0) >= sample[0::2].count(0)
        return data.decode("utf-16-le" if high_bytes_second else "utf-16-be", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def looks_like_report_text(head: bytes | str) -> bool:
    """Whether a file is a report text, or a log with one in it.

    Args:
        head: Its first kilobytes, or all of it. A log may have other lines first.
    """
    # The last line may end within a character, and then all of it would not pass for UTF-8.
    text = decode_text(head[: head.rfind(b"\n") + 1] or head) if isinstance(head, bytes) else head
    if "\0" in text:
        return False  # a model whose strings quote a report
    return _TITLE.search(text) is not None or _HEADINGS.search(text) is not None
