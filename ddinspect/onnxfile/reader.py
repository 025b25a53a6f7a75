"""Read an ONNX file from disk without its weights."""

from __future__ import annotations

import os
from typing import Any, Final

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.convert import model_from_proto
from ddinspect.onnxfile.model import Model
from ddinspect.onnxfile.schema import message_classes
from ddinspect.onnxfile.sniff import looks_like_text, sniff
from ddinspect.onnxfile.view import opened
from ddinspect.onnxfile.wire import WireError, strip

_HEAD: Final = 1024
_DOWNLOAD_AGAIN: Final = "the file is cut or no ONNX model: export or download it again"


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

    Values of more than 1 kB stay in the file and are recorded by offset and size. External data is never opened.

    Raises:
        UnreadableInputError: the file cannot be read or holds no ONNX graph. The message says which, at what byte, and
            what to do.
    """
    name = os.fspath(path)
    mark = os.urandom(16).hex()
    with opened(path) as buffer:
        head, size = buffer[:_HEAD], len(buffer)
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
