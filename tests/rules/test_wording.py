from __future__ import annotations

import pytest

from ddinspect.rules.wording import counted, listed, quoted, size


def test_a_quoted_name_stays_on_one_line() -> None:
    assert quoted("two\nlines \x1b[31m [bold]") == r"`two\nlines \x1b[31m [bold]`"


def test_a_list_shows_three_and_counts_the_rest() -> None:
    assert listed([]) == ""
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(map(str, range(1203))) == "0, 1, 2 and 1,200 more"


def test_counted_is_singular_for_one_only() -> None:
    assert [counted(number, "node") for number in (0, 1, 1200)] == ["0 nodes", "1 node", "1,200 nodes"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_605_632, "1.6 MB"),
        (999_949, "999.9 kB"),
        (999_951, "1.0 MB"),
        (3_200_000_000, "3.2 GB"),
        (5 * 10**18, "5000.0 PB"),
    ],
)
def test_sizes_have_decimal_prefixes(number: int, text: str) -> None:
    assert size(number) == text
