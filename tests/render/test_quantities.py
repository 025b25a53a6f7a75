from __future__ import annotations

import pytest

from ddinspect.render.quantities import counted, macs, percent, shape_text, size


# The first four are printed in AMD's reports and model cards.
@pytest.mark.parametrize(
    ("value", "text"),
    [(95.7, "95.7%"), (98.1, "98.1%"), (98.81, "98.81%"), (100.0, "100.0%"), (0.0, "0.0%"), (None, "n/a")],
)
def test_percent(value: float | None, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (999, "999"), (1000, "1.00 K"), (12_600, "12.6 K"), (126_000, "126 K"), (999_499, "999 K"),
        (999_500, "1.00 M"), (9_994_999, "9.99 M"), (9_995_000, "10.0 M"), (1_257_259_466_752, "1.26 T"),
        (10**21, "1,000 E"), (None, "n/a"),
    ],
)  # fmt: skip
def test_macs(value: int | None, text: str) -> None:
    assert macs(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1605632, "1.6 MB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
        (-1572864, "-1.6 MB"), (None, "n/a"),
    ],
)  # fmt: skip
def test_size(value: int | None, text: str) -> None:
    assert size(value) == text


def test_counted() -> None:
    assert [counted(n, "node") for n in (0, 1, 1234, None)] == ["0 nodes", "1 node", "1,234 nodes", "n/a nodes"]


def test_shape_text() -> None:
    assert shape_text((1, "batch", None, 0)) == "[1,batch,?,0]"
    assert shape_text(()) == "[1]"
    assert shape_text(None) == "[*]"
    assert shape_text(("a\nb",)) == r"[a\nb]"
