from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from ddinspect.onnxfile.sniff import looks_like_text, sniff
from fixtures.small_graphs.base import small


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("model.onnx"), b"x")
    return file.getvalue()


def empty_zip() -> bytes:
    file = io.BytesIO()
    zipfile.ZipFile(file, "w").close()
    return file.getvalue()


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (b"", "an empty file"),
        (bytes(1024), "nothing but zero bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "a Git LFS pointer"),
        (zipped(), "a zip archive"),
        (empty_zip(), "an empty zip archive"),
        (gzip.compress(b"model", mtime=0), "a gzip archive"),
        ("<model>".encode("utf-16"), "a UTF-16 text"),
        ("\ufeff<model>".encode("utf-16-be"), "a UTF-16 text"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\r\n  <HTML lang=en>", "a web page"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><Error>", "a web page"),
        (b'{"ir_version": 8}', "a JSON text"),
        (b"\xef\xbb\xbf [1]", "a JSON text"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"GGUF\x03\0\0\0", "a GGUF model"),
        (b"\x18\0\0\0ORTM", "an ORT-format model"),
    ],
)
def test_what_a_file_is(head: bytes, problem: str) -> None:
    verdict = sniff(head)
    assert verdict is not None
    assert verdict.problem.startswith(problem)
    assert verdict.advice


@pytest.mark.parametrize(
    "head", [small().SerializeToString(), b"\x08\x0a", b"\n\n \t", b"hello", b"\0\0\x01", b"import onnx"]
)
def test_says_nothing_of_what_may_be_a_model(head: bytes) -> None:
    assert sniff(head) is None


def test_text_is_printable_ascii() -> None:
    assert looks_like_text(b"ir_version: 8\r\n\tgraph {}")
    assert not looks_like_text(b"ir\x00version")
    assert not looks_like_text("ä".encode())
