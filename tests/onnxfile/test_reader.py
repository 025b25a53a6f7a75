from __future__ import annotations

import gzip
import os
import random
import sys
from pathlib import Path

import pytest

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.reader import read_model
from ddinspect.onnxfile.wire import bytes_field
from fixtures.small_graphs import write
from fixtures.small_graphs.base import small
from fixtures.small_graphs.t05_external import LFS_POINTER

# `graph` of a ModelProto, `node` of a GraphProto, `name` of a NodeProto, by field number.
GRAPH, NODE, NODE_NAME, ATTRIBUTE, BODY = 7, 1, 3, 5, 6


def refusal(path: Path) -> str:
    """What the error says, which is one line and says more than that it failed."""
    with pytest.raises(UnreadableInputError) as caught:
        read_model(path)
    error = caught.value
    assert str(error).isprintable()
    assert error.path == str(path)
    assert error.problem
    assert error.advice
    return error.problem


def file(folder: Path, content: bytes) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(content)
    return path


def test_reads_a_model(tmp_path: Path) -> None:
    path = write("t1_vae_mini", tmp_path)
    for given in (path, str(path)):
        model = read_model(given)
        assert model.path == str(path)
        assert model.file_size == path.stat().st_size
        op_types = [node.op_type for node in model.graph.nodes]
        assert op_types == ["Transpose", "CastAvx", "DynamicDispatch", "CastAvx", "Transpose"]


@pytest.mark.parametrize("folder", ["mod\u00e8les \u6a21\u578b", "with spaces [b] 'x'", "a" * 100])
def test_any_folder_name(folder: str, tmp_path: Path) -> None:
    assert len(read_model(write("sound", tmp_path / folder)).graph.nodes) == 5


def test_every_prefix_reads_or_is_refused_in_one_line(tmp_path: Path) -> None:
    whole = small().SerializeToString()
    readable = []
    for size in range(len(whole)):
        path = file(tmp_path, whole[:size])
        try:
            read_model(path)
        except UnreadableInputError:
            refusal(path)
        else:
            readable.append(size)
    # The graph is one field: what ends inside it is cut. Only the opset imports behind it can be missing.
    graph_end = len(whole) - sum(len(bytes_field(8, each.SerializeToString())) for each in small().opset_import)
    assert readable[0] == graph_end
    assert len(readable) == 2


def test_random_bytes_are_refused_in_one_line(tmp_path: Path) -> None:
    source = random.Random(1)
    for size in (1, 2, 3, 10, 100, 5000):
        for _ in range(20):
            refusal(file(tmp_path, source.randbytes(size)))


def test_a_byte_that_is_flipped_never_crashes(tmp_path: Path) -> None:
    whole, source = bytearray(small().SerializeToString()), random.Random(2)
    outcomes = set()
    for _ in range(400):
        changed = bytearray(whole)
        changed[source.randrange(len(whole))] ^= 1 << source.randrange(8)
        path = file(tmp_path, bytes(changed))
        try:
            read_model(path)
            outcomes.add("read")
        except UnreadableInputError:
            refusal(path)
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def nested(levels: int) -> bytes:
    graph = b""
    for _ in range(levels):
        graph = bytes_field(NODE, bytes_field(ATTRIBUTE, bytes_field(BODY, graph)))
    return bytes_field(GRAPH, graph)


NO_MODEL = [
    (b"", "an empty file"),
    (bytes(5000), "nothing but zero bytes"),
    (LFS_POINTER.format(size=1).encode(), "a Git LFS pointer"),
    (b"<!doctype html>\n<html><body>404</body></html>", "a web page"),
    (b"<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>", "a web page"),
    (b"PK\x03\x04" + bytes(100), "a zip archive"),
    (gzip.compress(b"model", mtime=0), "a gzip archive"),
    ("ir_version: 8".encode("utf-16"), "a UTF-16 text"),
    (b'{"graph": {}}', "a JSON text"),
    (b"import onnx\n\nonnx.load('model.onnx')\n", "a text file"),
    (b"ir_version: 8\ngraph {\n}\n", "a text file"),
    (nested(10_000), "not an ONNX model: messages nested more than 100 deep at byte "),
    (nested(34), "not an ONNX model: protobuf cannot parse it"),
    (b"\x08\x0a\x3a\x80", "not an ONNX model: the file ends inside a number at byte 3"),
    (b"\x08\x0a\x3a\x7fabc", "not an ONNX model: a field of 127 bytes where 3 are left at byte 4"),
    (b"\x08\x0a", "not an ONNX model: it holds no graph"),
    (b"\x08\x0a\x38\x05", "not an ONNX model: it holds no graph"),  # field 7, but a number
    (bytes_field(GRAPH, bytes_field(NODE, bytes_field(NODE_NAME, b"\xff"))), "not an ONNX model: a name in it is"),
]


@pytest.mark.parametrize(("content", "problem"), NO_MODEL, ids=[problem for _, problem in NO_MODEL])
def test_what_is_no_model(content: bytes, problem: str, tmp_path: Path) -> None:
    assert refusal(file(tmp_path, content)).startswith(problem)


def test_an_empty_graph_is_a_graph(tmp_path: Path) -> None:
    model = read_model(file(tmp_path, bytes_field(GRAPH, b"")))
    assert (model.graph.nodes, model.graph.inputs, model.functions) == ((), (), {})


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "a folder, not a file"


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no\nsuch.onnx") == "no such file or folder"
    assert refusal(tmp_path / "no" / "such.onnx") == "no such file or folder"


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nul\0.onnx").startswith("cannot be read: ")
    assert refusal(tmp_path / ("n" * 5000)).startswith("cannot be read: ")
    assert refusal(file(tmp_path, b"") / "model.onnx")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if sys.platform != "win32":  # the type checker asks
        os.mkfifo(tmp_path / "pipe.onnx")
    assert refusal(tmp_path / "pipe.onnx") == "not a regular file"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write("sound", tmp_path)
    path.chmod(0)
    assert refusal(path).startswith("cannot be read: ")


def test_a_file_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("sound", tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ddinspect.onnxfile.view.FileIO", refuse)
    assert refusal(path) == "cannot be read: Permission denied"


def test_external_data_is_not_opened(tmp_path: Path) -> None:
    """3.2 GB that are not there."""
    (weight,) = read_model(write("t5_external_data", tmp_path)).graph.initializers
    assert weight.external is not None
    assert (weight.dims, weight.external.length) == ((40000, 20000), 3_200_000_000)
