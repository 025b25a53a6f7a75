"""Read a small file that lies beside a model, whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.sniff import LFS_POINTER

# A real metadata file has 0.2 to 10 MB. Beyond this, decoding could exhaust the memory of a laptop.
LARGEST: Final = 512 * 1024 * 1024


def read_side_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file.

    Raises:
        UnreadableInputError: there is no such file, it is not a regular file, may not be read, is larger than
            `LARGEST` bytes, or is a Git LFS pointer.
    """
    name = os.fspath(path)
    try:
        # Opening a named pipe waits for a writer, so ask before opening.
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableInputError(name, "not a regular file", "name a file")
        if status.st_size > LARGEST:
            raise UnreadableInputError(name, f"{status.st_size} bytes, more than the {LARGEST} that are read")
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UnreadableInputError(name, "no such file", "check the spelling") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableInputError(name, f"cannot be read: {reason}") from error
    if data.startswith(LFS_POINTER):
        raise UnreadableInputError(name, "a Git LFS pointer, not the file itself", "run `git lfs pull`")
    return data
