from __future__ import annotations

import pytest

from ddinspect.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred\x00", r"\x1b[31mred\x00"),
        ("\x7f\x85\x9b", r"\x7f\x85\x9b"),
        ("\u202eevil\u2066\u200f\u061c", r"\u202eevil\u2066\u200f\u061c"),
        ("one\u2028two\u2029", r"one\u2028two\u2029"),
        ("\ud83d", r"\ud83d"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["[batch] /a/b\\c", "größe 畳み込み 🙂", "e\u0301", "\xa0", "\u200d", ""])
def test_ordinary_text_stays(text: str) -> None:
    assert printable(text) == text
