"""A file as bytes of which only the parts that are asked for are read.

Mapping the file would read as little, but its pages count as memory of the process, and a kernel with large folios in
its page cache maps a megabyte or two around each byte that is touched: half of a model file, for its tags alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Final, overload

from ddinspect.errors import UnreadableInputError, reason_of

_WINDOW: Final = 16 * 1024


class FileView:
    """The bytes of an open file, by offset. Reading goes through a window that follows the reader."""

    def __init__(self, file: FileIO, name: str, size: int) -> None:
        self._file = file
        self._name = name
        self._size = size
        self._start = 0
        self._window = b""

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, key: int, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...
    def __getitem__(self, key: int | slice, /) -> int | bytes:
        if isinstance(key, slice):
            start, stop, _ = key.indices(self._size)
            return self._bytes(start, stop)
        if not 0 <= key < self._size:
            raise IndexError(key)
        if not self._start <= key < self._start + len(self._window):
            self._move(key)
        return self._window[key - self._start]

    def _bytes(self, start: int, stop: int) -> bytes:
        if stop <= start:
            return b""
        if stop - start > _WINDOW:
            return self._read(start, stop - start)
        if not self._start <= start < stop <= self._start + len(self._window):
            self._move(start)
        return self._window[start - self._start : stop - self._start]

    def _move(self, start: int) -> None:
        self._start, self._window = start, self._read(start, min(_WINDOW, self._size - start))

    def _read(self, start: int, size: int) -> bytes:
        parts = []
        try:
            self._file.seek(start)
            while size > 0:  # one call reads at most 2 GiB
                part = self._file.read(size)
                if not part:
                    raise OSError(None, "it became shorter while it was read")
                parts.append(part)
                size -= len(part)
        except OSError as error:
            raise _unreadable(self._name, error) from error
        return b"".join(parts)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[FileView]:
    """The bytes of a regular file.

    Raises:
        UnreadableInputError: there is no such file, it is not a regular file, or it cannot be read.
    """
    name = os.fspath(path)
    try:
        # Opening a named pipe waits for a writer, so ask before opening.
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableInputError(name, "a folder, not a file", "name the .onnx file in it")
        if not stat.S_ISREG(mode):
            raise UnreadableInputError(name, "not a regular file", "name a file or a folder")
        file = FileIO(path, "rb")
    except FileNotFoundError:
        raise UnreadableInputError(name, "no such file or folder", "check the spelling") from None
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    with file:
        yield FileView(file, name, os.fstat(file.fileno()).st_size)


def _unreadable(name: str, error: OSError | ValueError) -> UnreadableInputError:
    return UnreadableInputError(name, f"cannot be read: {reason_of(error)}", "check the path and its permissions")
