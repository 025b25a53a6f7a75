from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from faulty_graphs import moved_ids, timestep, timestep_in_branch, timestep_in_function
from messages import findings_of, message_of, messages_of
from ml_dtypes import bfloat16
from onnx import helper

from fixtures.small_graphs.build import BOOL, FLOAT, INT64, UINT8, cast, cast_avx, node, save, tensor
from fixtures.small_graphs.left_over import conditioned

INT8, UINT16 = 3, 4


def test_the_input_the_cast_and_the_dd_node_are_named(tmp_path: Path) -> None:
    (finding,) = findings_of("DD105", "timestep_in_bf16", tmp_path)
    assert finding.message == (
        "the integers of `timestep` (INT64) become BFLOAT16 at `t_t_b` on their way to DD node `dd`: those above 256 "
        "are rounded, 999 to 1000"
    )
    assert finding.node == "t_t_b"


def test_the_numbers_it_quotes_are_true() -> None:
    rounded = np.arange(1000).astype(bfloat16).astype(int)
    assert rounded[999] == 1000
    assert (rounded[:257] == np.arange(257)).all()
    assert rounded[257] != 257


@pytest.mark.parametrize("dtype", [UINT8, INT8, BOOL, FLOAT])
def test_types_that_bfloat16_holds_are_no_fault(dtype: int, tmp_path: Path) -> None:
    assert messages_of("DD105", partial(timestep, dtype=dtype), tmp_path) == []


def test_sixteen_bits_are_too_many(tmp_path: Path) -> None:
    assert "(UINT16)" in message_of("DD105", partial(timestep, dtype=UINT16), tmp_path)


def test_integers_are_followed_through_ops_that_move_them(tmp_path: Path) -> None:
    assert "the integers of `pair` (INT64), which depend on input `ids`," in message_of("DD105", moved_ids, tmp_path)


def test_integers_are_followed_out_of_bodies_and_functions(tmp_path: Path) -> None:
    (inside,) = findings_of("DD105", timestep_in_function, tmp_path / "function")
    assert inside.node == "local::ToBf16/in_out"
    assert "`timestep` (INT64)" in inside.message
    branches = findings_of("DD105", timestep_in_branch, tmp_path / "branch")
    assert [finding.node for finding in branches] == ["if0/else_branch/c", "if0/then_branch/c"]


def test_a_constant_is_no_input(tmp_path: Path) -> None:
    def constant_time(folder: Path) -> Path:
        time = helper.make_tensor("time", INT64, [1], [999])
        nodes = [cast("time", "t", FLOAT), cast_avx("t", "t_b", 16)]
        return save(folder, conditioned(nodes, tensor("unused", INT64, 1), [1], [], [time]))

    assert messages_of("DD105", constant_time, tmp_path) == []


@pytest.mark.parametrize(("picked", "reported"), [("then", True), ("condition", False)])
def test_where_hands_on_what_it_chooses_from_and_not_its_condition(picked: str, reported: bool, tmp_path: Path) -> None:
    def choice(folder: Path) -> Path:
        half = helper.make_tensor("half", FLOAT, [1], [0.5])
        chosen = ["yes", "t", "half"] if picked == "then" else ["flag", "half", "half"]
        nodes = [
            cast("timestep", "t", FLOAT),
            cast("timestep", "flag", BOOL),
            node("Where", chosen, ["w"], "where"),
            cast_avx("w", "t_b", 16),
        ]
        yes = helper.make_tensor("yes", BOOL, [1], [True])
        return save(folder, conditioned(nodes, tensor("timestep", INT64, 1), [1], [], [half, yes]))

    assert bool(messages_of("DD105", choice, tmp_path)) is reported
