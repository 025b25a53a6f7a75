from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddinspect.artifacts.metadata import read_metadata
from ddinspect.artifacts.report_text import read_report_text
from ddinspect.artifacts.sidefile import read_side_file
from ddinspect.errors import UnreadableInputError

# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def test_a_file_comes_whole(tmp_path: Path) -> None:
    content = os.urandom(100_000)
    (tmp_path / "f").write_bytes(content)
    assert read_side_file(tmp_path / "f") == content
    (tmp_path / "empty").touch()
    assert read_side_file(str(tmp_path / "empty")) == b""


@pytest.mark.parametrize("read", [read_side_file, read_metadata, read_report_text])
def test_a_pointer_says_how_to_get_the_file(tmp_path: Path, read: object) -> None:
    assert callable(read)
    (tmp_path / "f").write_bytes(POINTER)
    with pytest.raises(UnreadableInputError, match=r"a Git LFS pointer, .*run `git lfs pull`"):
        read(tmp_path / "f")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(bytes(11))
    monkeypatch.setattr("ddinspect.artifacts.sidefile.LARGEST", 11)
    assert len(read_side_file(tmp_path / "f")) == 11
    monkeypatch.setattr("ddinspect.artifacts.sidefile.LARGEST", 10)
    with pytest.raises(UnreadableInputError, match="11 bytes, more than the 10 that are read"):
        read_side_file(tmp_path / "f")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="no such file"):
        read_side_file(tmp_path / "absent")
    with pytest.raises(UnreadableInputError, match="not a file"):
        read_side_file(tmp_path)
