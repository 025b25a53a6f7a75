"""Read a small file that lies beside a model, whole."""

from __future__ import annotations

import os
from typing import Final

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.sniff import LFS_POINTER
from ddinspect.onnxfile.view import opened

# A real metadata file has 0.2 to 10 MB. Beyond this, decoding could exhaust the memory of a laptop.
LARGEST: Final = 512 * 1024 * 1024


def read_side_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file.

    Raises:
        UnreadableInputError: there is no such file, it is not a regular file, may not be read, is larger than
            `LARGEST` bytes, or is a Git LFS pointer.
    """
    name = os.fspath(path)
    with opened(path) as view:
        if len(view) > LARGEST:
            raise UnreadableInputError(name, f"{len(view)} bytes, more than the {LARGEST} that are read")
        data = view[:]
    if data.startswith(LFS_POINTER):
        raise UnreadableInputError(name, "a Git LFS pointer, not the file itself", "run `git lfs pull`")
    return data
