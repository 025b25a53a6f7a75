"""The small graphs are what they claim to be: judged by onnx itself, and by figures worked out beforehand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, inliner, numpy_helper, shape_inference

from fixtures.small_graphs import CASES, PAIRS, t05_external, write
from fixtures.small_graphs.__main__ import main
from fixtures.small_graphs.build import dd_nodes

Make = Callable[[Path], Path]

VAE_DECODER = Path(__file__).parent.parent / "fixtures" / "sd15-vae-decoder"
MODELS = [case for case in CASES if case[0] != "t5_lfs_model"]
NO_IMPORT = "No opset import for domain 'com.ryzenai'"
NO_DATA = "tensor name: W"
REFUSED = {
    "t4_no_opset_import": NO_IMPORT,
    "t5_external_data": NO_DATA,
    "t5_absent": NO_DATA,
    "t5_unsafe_location": NO_DATA,
    "t5_absolute_location": NO_DATA,
    "t5_drive_location": NO_DATA,
    "t5_backslash_location": NO_DATA,
    "t5_empty_location": NO_DATA,
    "t7_if_no_opset_import": NO_IMPORT,
    "t10_dims": "Field 'shape' of 'type' is required but missing",
    "t10_unsorted": "topologically sorted",
    "cycle": "topologically sorted",
    "two_producers": "single static assignment",
    "dd_in_default_domain": "No Op registered for DynamicDispatch",
}


def load(path: Path) -> ModelProto:
    return onnx.load(path, load_external_data=False)


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "make"), MODELS)
def test_loads_and_checker_says_what_is_known(name: str, make: Make, tmp_path: Path) -> None:
    path = make(tmp_path / name)
    assert load(path).ir_version == 10
    if name in REFUSED:
        with pytest.raises(onnx.checker.ValidationError, match=REFUSED[name]):
            onnx.checker.check_model(str(path))
    else:
        onnx.checker.check_model(str(path))


@pytest.mark.parametrize(("name", "make"), CASES)
def test_same_bytes_twice_and_nothing_big(name: str, make: Make, tmp_path: Path) -> None:
    path = make(tmp_path / "first")
    make(tmp_path / "second")
    first = files_below(tmp_path / "first")
    assert first == files_below(tmp_path / "second")
    assert path.parent == tmp_path / "first"
    assert sum(map(len, first.values())) < 100_000, name


def test_names_are_distinct_and_pairs_differ(tmp_path: Path) -> None:
    assert max(Counter(name for name, _ in CASES).values()) == 1
    for name in {name for pair in PAIRS for name in pair}:
        write(name, tmp_path / name)
    for fault, sound in PAIRS:
        assert files_below(tmp_path / fault) != files_below(tmp_path / sound), (fault, sound)


def test_command_writes_every_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(name for name, _ in CASES)
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


# Every node in every scope; nodes and DD nodes were counted by hand from the descriptions of the cases.
@pytest.mark.parametrize(
    ("name", "nodes", "dispatched"),
    [
        ("t1_vae_mini", 5, 1),
        ("t7_if", 5, 1),
        ("t7_loop", 4, 1),
        ("t7_scan", 4, 1),
        ("t7_if_both_branches", 7, 2),
        ("t8_called_twice", 6, 2),
        ("t8_two_shapes", 6, 2),
        ("t8_two_levels", 12, 4),
        ("t8_if_in_loop_in_function", 6, 1),
        ("t9_names", 6, 2),
        ("t11_chain", 14, 2),
        ("three_in_a_row", 5, 3),
        ("dd_node_alone", 1, 1),
        ("no_node", 0, 0),
    ],
)
def test_counts(name: str, nodes: int, dispatched: int, tmp_path: Path) -> None:
    made = inliner.inline_local_functions(load(write(name, tmp_path)))
    waiting, found = [*made.graph.node], 0
    while waiting:
        one = waiting.pop()
        found += 1
        for attribute in one.attribute:
            waiting += attribute.g.node
    assert found == nodes
    assert len(list(dd_nodes(made))) == dispatched


def test_t1_metadata_has_the_published_counts(tmp_path: Path) -> None:
    path = write("t1_vae_mini", tmp_path)
    op_list = json.loads((tmp_path / "cache" / "dd_meta.json").read_text(encoding="utf-8"))["op_list"]
    assert Counter(op["type"] for op in op_list) == Counter(
        SDConv=36, SDGroupNorm=30, SDAdd=15, SDGemm=4, SDResize=3, SDMHA_VAE=1
    )
    (dd,) = dd_nodes(load(path))
    replaced = next(attribute for attribute in dd.attribute if attribute.name == "replaced")
    assert [name.decode() for name in replaced.strings] == [op["name"] for op in op_list]


def test_t1_without_value_info_infers_the_first_tensor_only(tmp_path: Path) -> None:
    inferred = shape_inference.infer_shapes(load(write("t1_no_value_info", tmp_path)))
    assert [value.name for value in inferred.graph.value_info] == ["z_nhwc"]


def test_t4_makes_shape_inference_fail(tmp_path: Path) -> None:
    with pytest.raises(shape_inference.InferenceError):
        shape_inference.infer_shapes(load(write("t4_no_opset_import", tmp_path)), strict_mode=False)


def test_t3_looks_like_the_published_report(tmp_path: Path) -> None:
    """Column widths, line and byte counts of the published report of SD 1.5's VAE decoder at 79 columns."""
    write("t3_report", tmp_path)
    written = (tmp_path / "onnx_report.txt").read_bytes()
    lines = written.decode("ascii").splitlines()
    assert (len(lines), len(written)) == (33, 2640)
    rules = [[len(part) for part in line.split("+")[1:-1]] for line in lines if line.startswith("+=")]
    assert rules == [[19, 7, 24, 24], [20, 13, 20, 21]]
    assert written == (VAE_DECODER / "dd" / "onnx_report.txt").read_bytes()


def test_t3_variants_hold_the_same_text(tmp_path: Path) -> None:
    texts = {}
    encodings = {"t3_report": "utf-8", "t3_crlf": "utf-8", "t3_utf8_mark": "utf-8-sig", "t3_utf16": "utf-16"}
    for name, encoding in encodings.items():
        write(name, tmp_path / name)
        texts[name] = (tmp_path / name / "onnx_report.txt").read_text(encoding=encoding)
    assert len(set(texts.values())) == 1
    write("t3_truncated", tmp_path)
    cut = (tmp_path / "onnx_report.txt").read_text(encoding="utf-8")
    assert texts["t3_report"].startswith(cut)
    assert cut.splitlines()[-1].startswith("| Offloaded Op Types")


def test_t5_declares_and_does_not_write(tmp_path: Path) -> None:
    path = write("t5_external_data", tmp_path)
    declared = {entry.key: entry.value for entry in load(path).graph.initializer[0].external_data}
    assert declared == {"location": "model.onnx.data", "offset": "0", "length": "3200000000"}
    assert list(files_below(tmp_path)) == ["replaced.onnx"]
    assert path.stat().st_size < 300
    with pytest.raises((onnx.checker.ValidationError, FileNotFoundError)):
        onnx.load(path)


@pytest.mark.parametrize(("name", "size"), [("t5_present", 64), ("t5_too_short", 63), ("t5_data_is_lfs_pointer", 127)])
def test_t5_data_file(name: str, size: int, tmp_path: Path) -> None:
    write(name, tmp_path)
    assert (tmp_path / t05_external.DATA).stat().st_size == size


def test_t5_pointer_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(DecodeError):
        load(write("t5_lfs_model", tmp_path))


def test_t6_bf16_values(tmp_path: Path) -> None:
    """onnx decodes both storage forms to the values rounded by hand to 8 significant bits."""
    expected = np.array([1, -2.5, 3.140625, np.nan, np.inf, -np.inf, 2.0**-133, 65536], np.float32)
    for stored in load(write("t6_bf16_constants", tmp_path)).graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(stored).astype(np.float32), expected)


def test_t6_dtypes_are_undefined(tmp_path: Path) -> None:
    unknown = load(write("t6_unknown_dtype", tmp_path / "unknown")).graph.input[1]
    undefined = load(write("t6_undefined_dtype", tmp_path / "undefined")).graph.value_info[-1]
    assert unknown.type.tensor_type.elem_type == 99
    assert 99 not in onnx.TensorProto.DataType.values()
    assert undefined.type.tensor_type.elem_type == onnx.TensorProto.UNDEFINED


def test_t11_passes_the_full_checker(tmp_path: Path) -> None:
    for name in ("t11_chain", "t11_other_perm", "t11_middle_is_output"):
        onnx.checker.check_model(load(write(name, tmp_path / name)), full_check=True)
