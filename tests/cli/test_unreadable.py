"""No input makes a traceback: one line on stderr, exit 2, nothing written."""

from __future__ import annotations

import io
import os
import random
import zipfile
from pathlib import Path

import onnx
import pytest

from ddinspect.cli.main import run
from fixtures import small_graphs


def nested(depth: int) -> bytes:
    """A ModelProto whose graph holds a node with a sub-graph that holds a node with one, and so on."""

    def field(number: int, content: bytes) -> bytes:
        length = len(content)
        encoded = bytearray()
        while length > 0x7F:
            encoded.append(length & 0x7F | 0x80)
            length >>= 7
        return bytes((number << 3 | 2, *encoded, length)) + content

    graph = b""
    for _ in range(depth):
        graph = field(1, field(5, field(6, graph)))  # node { attribute { g } }
    return field(7, graph)


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.onnx", b"x")
    return buffer.getvalue()


CONTENTS = {
    "empty": b"",
    "zeros": bytes(4096),
    "random": random.Random(1).randbytes(4096),
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "html": b"<!DOCTYPE html><html><body>404</body></html>",
    "zip": zipped(),
    "utf16": "a text".encode("utf-16"),
    "text": b"just some words\n" * 40,
    "deep": nested(10_000),
    "deep json": b"[" * 100_000,
    "other json": b'{"schema": "somebody.else/1"}',
    "newer report": b'{"schema": "ddinspect.report/9"}',
    "cut report text": b"DynamicDispatch Offload - not offloaded\n+----+\n| Op",
}


def refused(path: Path | str, capsys: pytest.CaptureFixture[str]) -> str:
    """Report on a path that cannot be read; returns what was said."""
    assert run(["report", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("ddinspect: error: ")
    assert "this is a bug" not in printed.err
    return printed.err


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("suffix", [".onnx", ".txt", ".json", ""])
def test_content(name: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(CONTENTS[name])
    refused(path, capsys)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_every_prefix_of_a_small_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = small_graphs.write("t11_chain", tmp_path / "whole").read_bytes()
    path = tmp_path / "cut.onnx"
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        try:
            valid = onnx.ModelProto.FromString(whole[:length]).HasField("graph")
        except Exception:  # noqa: BLE001 (protobuf implementations raise classes of their own)
            valid = False
        if valid:
            assert run(["report", str(path)]) == 0
            capsys.readouterr()
        else:
            refused(path, capsys)


def test_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such" in refused(tmp_path / "missing", capsys)
    refused(tmp_path, capsys)
    (tmp_path / "unet" / "dd").mkdir(parents=True)
    refused(tmp_path, capsys)
    (tmp_path / "a_loop").symlink_to(tmp_path)
    refused(tmp_path, capsys)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_named_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    assert "not a regular file" in refused(tmp_path / "pipe.onnx", capsys)


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_graphs.write("t11_chain", tmp_path)
    path.chmod(0)
    assert "cannot be read" in refused(path, capsys)


@pytest.mark.parametrize("format_name", ["console", "text", "json", "markdown", "csv"])
@pytest.mark.parametrize("case", ["t9_hostile_names", "t9_hostile_dd_name"])
def test_hostile_names_are_shown_escaped(
    case: str, format_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small_graphs.write(case, tmp_path)
    assert run(["report", str(path), "--format", format_name, "--all"]) == 0
    printed = capsys.readouterr().out
    assert not set(printed) & {chr(code) for code in (*range(9), *range(11, 13), *range(14, 32), *range(127, 160))}
    assert "\u202e" not in printed  # right-to-left override


def test_every_small_graph_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, write in small_graphs.CASES:
        path = write(tmp_path / name)
        for format_name in ("console", "text", "json", "markdown", "csv"):
            code = run(["report", str(path), "--format", format_name])
            printed = capsys.readouterr()
            assert code == (2 if name == "t5_lfs_model" else 0), (name, format_name, printed.err)
