from __future__ import annotations

import pytest

from ddinspect.errors import DDInspectError, UnreadableInputError, UsageError


def test_message_says_what_is_wrong_and_what_to_do() -> None:
    error = UnreadableInputError("a.onnx", "an empty file", "download it again")
    assert str(error) == "a.onnx: an empty file; download it again"
    assert (error.path, error.problem, error.advice) == ("a.onnx", "an empty file", "download it again")
    assert str(UnreadableInputError("a.onnx", "an empty file")) == "a.onnx: an empty file"


def test_message_is_one_line_that_does_nothing_to_a_terminal() -> None:
    error = UnreadableInputError("a\nb\x1b[31m.onnx", "\u202eodd\u2028\udc80\x85")
    assert str(error) == "a\\nb\\x1b[31m.onnx: \\u202eodd\\u2028\\udc80\\x85"
    assert error.path == "a\nb\x1b[31m.onnx"
    assert str(UsageError("\r")) == "\\r"


def test_message_keeps_what_can_be_shown() -> None:
    path = "C:\\Modelle\\\u6a21\u578b \u00e9\u00a0\u3000\U0001f600 'a' [b].onnx"
    assert str(UsageError(path)) == path


@pytest.mark.parametrize("error", [UnreadableInputError("a", "b"), UsageError("a")])
def test_every_error_is_one_a_caller_can_catch(error: Exception) -> None:
    assert isinstance(error, DDInspectError)
    assert error.exit_code == 2
