"""A file read through a window is the file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.view import opened

CONTENT = random.Random(0).randbytes(50_000)  # several windows


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("view") / "content"
    path.write_bytes(CONTENT)
    return path


@given(st.lists(st.tuples(st.integers(-10, 50_010), st.integers(-10, 50_010)), max_size=20))
def test_slices_are_those_of_the_bytes(path: Path, slices: list[tuple[int, int]]) -> None:
    with opened(path) as view:
        for start, stop in slices:
            assert view[start:stop] == CONTENT[start:stop]


@given(st.lists(st.integers(0, len(CONTENT) - 1), max_size=20))
def test_single_bytes_are_those_of_the_bytes(path: Path, offsets: list[int]) -> None:
    with opened(path) as view:
        assert [view[offset] for offset in offsets] == [CONTENT[offset] for offset in offsets]


def test_ends(path: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with opened(path) as view, opened(tmp_path / "empty") as empty:
        assert (len(view), view[:], len(empty), empty[:]) == (50_000, CONTENT, 0, b"")
        for offset in (-1, 50_000):
            with pytest.raises(IndexError):
                view[offset]


@pytest.mark.parametrize("raised", [ValueError("mine"), FileNotFoundError("mine"), OSError("mine")])
def test_errors_of_its_user_are_left_alone(raised: Exception, path: Path) -> None:
    with pytest.raises(type(raised), match="mine"), opened(path):
        raise raised


def test_a_file_that_shrinks_is_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(CONTENT)
    with opened(path) as view:
        path.write_bytes(b"")
        with pytest.raises(UnreadableInputError, match="became shorter"):
            view[40_000]
