"""What a file is that is no ONNX model, and what to do about it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"


class Verdict(NamedTuple):
    """What a file turned out to be, and the next step."""

    problem: str
    advice: str


_MAGIC: Final[tuple[tuple[bytes, Verdict], ...]] = (
    (LFS_POINTER, Verdict("a Git LFS pointer, not the model itself", "run `git lfs pull` in the repository")),
    (b"PK\x03\x04", Verdict("a zip archive", "unpack it and name the .onnx file inside")),
    (b"PK\x05\x06", Verdict("an empty zip archive", "download the file again")),
    (b"\x1f\x8b", Verdict("a gzip archive", "unpack it and name the .onnx file inside")),
    (b"\xff\xfe", Verdict("a UTF-16 text", "name the .onnx file")),
    (b"\xfe\xff", Verdict("a UTF-16 text", "name the .onnx file")),
    (b"\x89HDF", Verdict("an HDF5 file", "export the model to ONNX first")),
    (b"GGUF", Verdict("a GGUF model", "export the model to ONNX first")),
    (b"ORTM", Verdict("an ORT-format model", "name the .onnx file it was made from")),
)
_HTML: Final = re.compile(rb"\s*<(!doctype html|html|head|\?xml)", re.IGNORECASE)


def sniff(head: bytes) -> Verdict | None:
    """Recognise a file by its first bytes; None if nothing but ONNX speaks for itself.

    Args:
        head: The first kilobyte or so.
    """
    if not head:
        return Verdict("an empty file", "export or download the model again")
    if not head.strip(b"\0"):
        return Verdict("nothing but zero bytes", "download the file again")
    for magic, verdict in _MAGIC:
        # ORT-format models are flatbuffers: the identifier follows a 4-byte offset.
        if head.startswith(magic) or (magic == b"ORTM" and head[4:8] == magic):
            return verdict
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _HTML.match(bare):
        return Verdict("a web page, not a model", "the download was answered by a page: download the file itself")
    if bare[:1] in (b"{", b"["):
        return Verdict("a JSON text, not a model", "name the .onnx file beside it")
    return None


def looks_like_text(head: bytes) -> bool:
    """Whether a file that is no model is made of printable ASCII."""
    return not head.translate(None, bytes(range(32, 127)) + b"\t\r\n")
