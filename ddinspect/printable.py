"""Model strings made safe to print."""

from __future__ import annotations

import re
from typing import Final

# C0 controls, DEL, C1 controls; marks and embeddings that change the reading direction (U+061C, U+200E, U+200F,
# U+202A-U+202E, U+2066-U+2069); line and paragraph separators (U+2028, U+2029); lone surrogates, which have no UTF-8
# form.
_HIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def printable(text: str) -> str:
    r"""The text on one line, with nothing in it that a terminal or an editor would act on.

    Control characters, bidirectional controls, line separators and lone surrogates become Python-style escapes
    (`\n`, `\x1b`, `\u202e`). Everything else stays, a back-slash too, so the result is for reading, not for undoing.
    """
    return _HIDDEN.sub(_escape, text)
