"""Read an ONNX file from disk without its weights."""

from __future__ import annotations

import mmap
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.convert import model_from_proto
from ddinspect.onnxfile.model import Model
from ddinspect.onnxfile.schema import message_classes
from ddinspect.onnxfile.sniff import looks_like_text, sniff
from ddinspect.onnxfile.wire import Buffer, WireError, strip

_HEAD: Final = 1024
_DOWNLOAD_AGAIN: Final = "the file is cut or no ONNX model: export or download it again"


@contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[Buffer]:
    """The bytes of a regular file, mapped rather than read.

    Raises:
        UnreadableInputError: there is no such file, it is not a regular file, or it may not be read.
    """
    name = os.fspath(path)
    # Only what happens here is about the file: what the caller raises inside the `with` passes through.
    try:
        view = _map(Path(path), name)
    except FileNotFoundError:
        raise UnreadableInputError(name, "no such file or folder", "check the spelling") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableInputError(name, f"cannot be read: {reason}", "check the path and its permissions") from error
    if view is None:
        yield b""
        return
    with view:
        yield view


def _map(path: Path, name: str) -> mmap.mmap | None:
    """A file as a map; None if it is empty, since nothing cannot be mapped."""
    # Opening a named pipe waits for a writer, so ask before opening.
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise UnreadableInputError(name, "a folder, not a file", "name the .onnx file in it")
    if not stat.S_ISREG(mode):
        raise UnreadableInputError(name, "not a regular file", "name a file or a folder")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return None
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(view, "madvise") and hasattr(mmap, "MADV_RANDOM"):
        # Read-ahead would fetch megabytes of weights round every tag that is looked at.
        view.madvise(mmap.MADV_RANDOM)
    return view


def _parse(name: str, structure: bytes) -> Any:
    try:
        proto = message_classes().ModelProto.FromString(structure)
    except Exception as error:  # protobuf implementations raise classes of their own
        raise UnreadableInputError(name, "not an ONNX model: protobuf cannot parse it", _DOWNLOAD_AGAIN) from error
    if not proto.HasField("graph"):
        raise UnreadableInputError(name, "not an ONNX model: it holds no graph", _DOWNLOAD_AGAIN)
    return proto


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read an ONNX file without its weights.

    The file is mapped; values of more than 1 kB stay where they are and are recorded by offset and size. External data
    is never opened.

    Raises:
        UnreadableInputError: the file cannot be read or holds no ONNX graph. The message says which, at what byte, and
            what to do.
    """
    name = os.fspath(path)
    mark = secrets.token_hex(16)
    with mapped(path) as buffer:
        head, size = bytes(buffer[:_HEAD]), len(buffer)
        verdict = sniff(head)
        if verdict is not None:
            raise UnreadableInputError(name, verdict.problem, verdict.advice)
        try:
            structure, payloads = strip(buffer, mark)
        except WireError as error:
            if looks_like_text(head):
                raise UnreadableInputError(name, "a text file, not a model", "name the .onnx file") from error
            raise UnreadableInputError(name, f"not an ONNX model: {error}", _DOWNLOAD_AGAIN) from error
    proto = _parse(name, structure)
    try:
        return model_from_proto(proto, path=name, file_size=size, structure=structure, mark=mark, payloads=payloads)
    except UnicodeDecodeError as error:
        raise UnreadableInputError(name, "not an ONNX model: a name in it is not UTF-8", _DOWNLOAD_AGAIN) from error
