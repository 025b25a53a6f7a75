from __future__ import annotations

from pathlib import Path

from faulty_graphs import metadata_in_both_caches, metadata_with
from messages import findings_of, message_of, messages_of
from mutants import Graph

from fixtures.small_graphs.base import NHWC, block
from fixtures.small_graphs.build import f32, model, save
from fixtures.small_graphs.t08_functions import IMPORTS, call, function


def test_unresolved_names_are_counted_and_the_first_ones_named(tmp_path: Path) -> None:
    assert message_of("DD003", "t2_partial_metadata", tmp_path) == (
        "DD node `dd` has 9 of 89 ops in `replaced` that are not in the metadata and not counted: "
        "`k80`, `k81`, `k82` and 6 more"
    )


def test_names_that_clash_are_told_apart(tmp_path: Path) -> None:
    assert messages_of("DD004", "t9_names", tmp_path) == [
        "DD node `dd1` lists `a` more than once in `replaced`",
        "op `b` is in `replaced` of 2 DD nodes: `dd1`, `dd2`",
    ]


def test_a_name_in_the_metadata_of_two_nodes(tmp_path: Path) -> None:
    message = message_of("DD004", "t2_name_in_two_files", tmp_path)
    assert message == "1 op name in the metadata of 2 nodes (`dd`, `other`): `k0`"


def test_the_file_that_the_runtime_takes_is_named(tmp_path: Path) -> None:
    message = message_of("DD004", metadata_in_both_caches, tmp_path).replace("\\", "/")
    used, shadowed = (f"`{tmp_path.as_posix()}/{cache}/dd_meta.json`" for cache in ("cache", ".cache"))
    assert message == (
        f"DD node `dd` has metadata in two places: {used} is used, {shadowed} with the same op list is not"
    )


def test_another_op_list_in_the_second_place_is_said(tmp_path: Path) -> None:
    def other_ops(folder: Path) -> Path:
        path = metadata_in_both_caches(folder)
        shadowed = folder / ".cache/dd_meta.json"
        shadowed.write_text(shadowed.read_text().replace("SDSilu", "SDGelu"))
        return path

    assert "with another op list is not" in message_of("DD004", other_ops, tmp_path)


def test_a_function_called_with_two_types_is_one_dd_node(tmp_path: Path) -> None:
    def called(folder: Path) -> Path:
        other = (1, 16, 16, 4)
        made = model(
            [call("Block", ["x"], "y"), call("Block", ["u"], "v")],
            [f32("x", *NHWC), f32("u", *other)],
            [f32("y", *NHWC), f32("v", *other)],
            functions=[function("Block", ["in"], block("in", "out", ["k0"], shape=None))],
            opsets=IMPORTS,
        )
        return save(folder, made, {})

    assert messages_of("DD004", called, tmp_path / "names") == []
    assert len(findings_of("DD002", called, tmp_path / "metadata")) == 1


def test_extra_ops_and_another_order(tmp_path: Path) -> None:
    def listing(*names: str) -> Graph:
        return lambda folder: metadata_with(folder, *names)

    assert message_of("DD006", listing("a", "d", "b", "c", "e"), tmp_path / "extra") == (
        "the metadata of DD node `dd` holds 2 ops that `replaced` does not list: `d`, `e`"
    )
    assert message_of("DD006", listing("a", "c", "b"), tmp_path / "order") == (
        "the metadata of DD node `dd` lists the ops in another order: `c` stands where `replaced` has `b`"
    )
    assert message_of("DD006", listing("a", "b", "c", "c"), tmp_path / "twice").endswith("`c`")
