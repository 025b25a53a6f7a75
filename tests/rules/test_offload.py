from __future__ import annotations

from pathlib import Path

from faulty_graphs import metadata_in_both_caches
from messages import findings_of, message_of, messages_of

from ddinspect import analyze
from fixtures import small_graphs
from fixtures.small_graphs.base import between
from fixtures.small_graphs.build import dd_nodes, metadata, save


def test_missing_metadata_says_where_it_is_wanted_and_what_is_counted(tmp_path: Path) -> None:
    (finding,) = findings_of("DD002", "t2_no_metadata", tmp_path)
    assert finding.message == (
        "DD node `dd` has no metadata: no `cache/dd_meta.json` or `.cache/dd_meta.json` beside the model; AMD's own "
        "report prints 0.0% here; 89 fused ops counted from `replaced` instead"
    )
    assert finding.node == "dd"


def test_missing_metadata_names_the_file_that_was_renamed(tmp_path: Path) -> None:
    message = message_of("DD002", "metadata_renamed", tmp_path)
    assert "the unused `dd_old_meta.json` holds 3 of its 3 ops, so the node or the file was renamed" in message
    assert "0.0%" not in message  # AMD's report reads every file whose name holds `meta`


def test_one_of_two_dd_nodes_without_metadata(tmp_path: Path) -> None:
    def half(folder: Path) -> Path:
        made = between([], second=["m"])
        return save(folder, made, {"dd1_meta.json": metadata(next(dd_nodes(made)))})

    (finding,) = findings_of("DD002", half, tmp_path)
    assert finding.node == "dd2"
    assert "AMD's own report counts none of its ops" in finding.message


def test_an_unused_file_of_other_ops_is_named_without_a_guess(tmp_path: Path) -> None:
    def unrelated(folder: Path) -> Path:
        first, second = between([], second=["m"]), between([], second=["m"], replaced=["e", "f"])
        other = list(dd_nodes(second))[1]
        return save(folder, first, {"dd1_meta.json": metadata(next(dd_nodes(first))), "x_meta.json": metadata(other)})

    message = message_of("DD002", unrelated, tmp_path)
    assert message.endswith("the unused `x_meta.json` holds 0 of its 2 ops")


def test_missing_replaced_says_what_counts_instead(tmp_path: Path) -> None:
    assert message_of("DD005", "replaced_missing", tmp_path / "a").endswith(": its metadata counts instead (3 ops)")
    both = message_of("DD005", "replaced_and_metadata_missing", tmp_path / "b")
    assert both.endswith(": nothing says what it stands for")


def test_both_ratios_are_quoted(tmp_path: Path) -> None:
    # 2 fused ops, and If, CastAvx, CastAvx, Relu: 2 / 6. At the top level stands the If alone.
    assert message_of("DD009", "t7_if", tmp_path) == (
        "dd_ratio is 33.33% but AMD's own report says 0.0%: it looks at the 1 node of the top level, without "
        "`if0/else_branch`, `if0/then_branch`"
    )


def test_each_file_passed_over_is_named(tmp_path: Path) -> None:
    messages = messages_of("DD011", "metadata_foreign", tmp_path)
    files = ("SDGemm_ctrl_meta.json", "block_0_meta.json", "tokenizer_metadata.json")
    assert [any(file in message for message in messages) for file in files] == [True] * 3


def test_a_file_that_is_used_is_not_unused(tmp_path: Path) -> None:
    assert messages_of("DD010", metadata_in_both_caches, tmp_path) == []


def test_metadata_that_is_cut_or_not_among_those_given_is_not_called_absent(tmp_path: Path) -> None:
    cut = message_of("DD002", "metadata_cut", tmp_path / "cut")
    assert "`dd_meta.json` is there and cannot be read (see DD011)" in cut
    assert "beside the model" not in cut
    model = small_graphs.write("sound", tmp_path / "model")
    other = small_graphs.write("t11_chain", tmp_path / "other").parent / "cache"
    messages = [finding.message for finding in analyze(model, meta=other).findings if finding.rule == "DD002"]
    assert len(messages) == 1
    assert "`dd_meta.json` is not among the files that were given" in messages[0]
