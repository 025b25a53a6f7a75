from __future__ import annotations

import pytest

from ddinspect.artifacts.join import join, sanitise
from ddinspect.artifacts.metadata import Metadata


def metadata(node: str, path: str = "") -> Metadata:
    return Metadata(node, path or f"cache/{node}_meta.json", (1, 1), (), {}, {})


# The first three are names of shipped packages and the source nodes they were made from.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NhwcConv_0-/conv_in/Conv", "NhwcConv_0-conv_inConv"),
        ("NhwcConv_0-/unet/conv_in/Conv", "NhwcConv_0-unetconv_inConv"),
        ("NhwcConv_0-/post_quant_conv/Conv", "NhwcConv_0-post_quant_convConv"),
        ("  my conv.1 ", "my_conv.1"),
        ("a\tb\nc[batch]", "abcbatch"),
        ("层/卷积 é", "层卷积_é"),
        ("///", ""),
    ],
)
def test_sanitise(name: str, expected: str) -> None:
    assert sanitise(name) == expected


def test_every_node_gets_the_metadata_of_its_name() -> None:
    a, b, c = metadata("a"), metadata("b"), metadata("c")
    joined = join(["b", "a", "d"], [a, b, c])
    assert joined.by_name == {"a": a, "b": b}
    assert joined.unused == (c,)
    assert joined.shadowed == ()


def test_a_name_that_is_not_file_safe_falls_back_to_its_safe_form() -> None:
    found = metadata("conv_inConv")
    assert join(["/conv_in/Conv"], [found]).by_name == {"/conv_in/Conv": found}


def test_the_exact_name_goes_first() -> None:
    plain, slash = metadata("ab"), metadata("a/b")  # the second from a combined file
    assert join(["a/b"], [plain, slash]).by_name == {"a/b": slash}
    # `ab` belongs to the node of that name, so `a/b` has none.
    assert join(["a/b", "ab"], [plain]).by_name == {"ab": plain}


def test_of_two_files_for_a_node_the_first_wins() -> None:
    first, second = metadata("a", "cache/a_meta.json"), metadata("a", ".cache/a_meta.json")
    joined = join(["a"], [first, second])
    assert joined.by_name == {"a": first}
    assert joined.shadowed == (second,)
    assert joined.unused == ()


def test_two_unused_files_of_one_name_are_both_unused() -> None:
    first, second = metadata("a", "cache/a_meta.json"), metadata("a", ".cache/a_meta.json")
    assert join([], [first, second]).unused == (first, second)


def test_names_differ_by_case() -> None:
    found = metadata("Conv")
    joined = join(["conv"], [found])
    assert joined.by_name == {}
    assert joined.unused == (found,)


@pytest.mark.parametrize("name", ["../secret", "/etc/secret", "..", "\\\\host\\secret", ""])
def test_a_name_that_looks_like_a_path_reaches_no_other_metadata(name: str) -> None:
    assert join([name], [metadata("other")]).by_name == {}
