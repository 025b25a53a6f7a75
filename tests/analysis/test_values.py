from __future__ import annotations

import msgspec
import pytest

from ddinspect.analysis.values import DeviceMemory, Source, Tool


def test_keys_that_are_words_of_python() -> None:
    said = msgspec.to_builtins(DeviceMemory(input=1, output=2, scratch=3, const=4))
    assert said == {"in": 1, "out": 2, "scratch": 3, "const": 4}
    assert msgspec.convert(said, DeviceMemory) == DeviceMemory(input=1, output=2, scratch=3, const=4)


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Tool().name = "other"  # type: ignore[misc]


def test_unknown_words_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value 'folder'"):
        msgspec.convert({"path": "x", "kind": "folder"}, Source)
