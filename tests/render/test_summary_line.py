from __future__ import annotations

import pytest
from sample_reports import bare_text, changed, package, untouched, vae

from ddinspect.render.summary_line import summary_line, summary_lines
from ddinspect.report import Reports


def test_line_of_the_contract() -> None:
    # The line as the command's documentation promises it.
    assert summary_line(vae()) == (
        "ddinspect: dd_ratio=95.7% fused=89 left=4 (boundary 4, shape 0, compute 0)"
        " regions=1 crossings=2 bf16_casts=2 layout=2"
    )


def test_component_comes_first() -> None:
    assert summary_line(vae(), "unet/512/dd").startswith("ddinspect: component=unet/512/dd dd_ratio=95.7% ")


def test_what_is_not_known_is_na() -> None:
    assert summary_line(bare_text()) == (
        "ddinspect: dd_ratio=95.7% fused=89 left=4 (n/a) regions=n/a crossings=n/a bf16_casts=2 layout=n/a"
    )
    unknown = changed(vae(), summary={"fused_ops": None, "dd_ratio": None})
    assert summary_line(unknown).startswith("ddinspect: dd_ratio=n/a fused=n/a left=4 ")


def test_numbers_have_no_separators() -> None:
    assert " fused=1742 " in summary_line(changed(vae(), summary={"fused_ops": 1742}))


def test_component_cannot_break_the_line_or_pass_for_a_figure() -> None:
    line = summary_line(vae(), 'a\nb dd_ratio=100% "c"')
    assert len(line.splitlines()) == 1
    assert line.startswith(r'ddinspect: component="a\nb dd_ratio=100% \"c\"" dd_ratio=95.7% ')
    assert summary_line(vae(), "").startswith('ddinspect: component="" ')


@pytest.mark.parametrize(
    ("component", "word"),
    [('a"b', r'"a\"b"'), ("a=b", '"a=b"'), ("a b", '"a b"'), ("unet/512_83", "unet/512_83")],
)
def test_a_component_is_quoted_where_it_would_not_read_as_one_word(component: str, word: str) -> None:
    assert summary_line(vae(), component).startswith(f"ddinspect: component={word} dd_ratio=95.7% ")


def test_one_line_per_report() -> None:
    lines = list(summary_lines(Reports(reports=(package(), untouched()))))
    assert [line.split()[1] for line in lines] == [
        "component=unet", "component=vae_decoder", 'component="text', "dd_ratio=0.0%",
    ]  # fmt: skip
