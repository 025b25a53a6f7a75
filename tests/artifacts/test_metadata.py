from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ddinspect.artifacts.metadata import Buffer, ForeignMetadataError, FusedOp, MetaTensor, read_metadata
from ddinspect.errors import UnreadableInputError

GENUINE = Path(__file__).parents[2] / "fixtures/sd15-vae-decoder/dd/cache/NhwcConv_0-post_quant_convConv_meta.json"

# One convolution, in the form AMD's public writer gives: attribute values are lists of text.
CONV: dict[str, Any] = {
    "dd_meta_major_version": 1,
    "dd_meta_minor_version": 1,
    "op_list": [
        {
            "name": "/conv_in/Conv",
            "type": "SDConv",
            "in_args": ["x"],
            "const_args": ["w"],
            "out_args": ["y"],
            "attrs": {"kernel_shape": {"type": "int", "value": ["3", "3"]}},
        }
    ],
    "fused_tensors": {"in": {"buffer_size": 256, "xrt_arg_id": 0, "packed_tensors": ["x"]}},
    "tensor_map": {
        "w": {
            "packed_buffer_label": "const",
            "xrt_arg_id": 3,
            "dtype": "bfp16ebs8",
            "shape": [41600],
            "size_in_bytes": 41600,
            "offset": 0,
            "file_name": ".cache\\conv_0.const",
            "file_size": 41600,
        }
    },
    "aux_info": {},
}


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def with_op(**changes: object) -> dict[str, Any]:
    return {**CONV, "op_list": [{**CONV["op_list"][0], **changes}]}


def refusal(path: Path) -> str:
    with pytest.raises(UnreadableInputError) as caught:
        read_metadata(path)
    assert not isinstance(caught.value, ForeignMetadataError)
    assert caught.value.path == str(path)
    return str(caught.value)


def foreign(path: Path) -> str:
    with pytest.raises(ForeignMetadataError) as caught:
        read_metadata(path)
    return str(caught.value)


def test_file_of_amds_own_writer() -> None:
    (metadata,) = read_metadata(GENUINE)
    assert (metadata.node, metadata.version, metadata.combined) == ("NhwcConv_0-post_quant_convConv", (1, 1), False)
    # The op counts of the decoder's architecture; bytes are elements x 2 for bfloat16.
    assert Counter(op.type for op in metadata.ops) == {
        "SDConv": 36, "SDGroupNorm": 30, "SDAdd": 15, "SDGemm": 4, "SDResize": 3, "SDMHA_VAE": 1,
    }  # fmt: skip
    assert metadata.buffers["in"] == Buffer(1 * 64 * 64 * 4 * 2, ("Transpose_0_out-latent_sample.out0_0",))
    assert metadata.tensors["NhwcConv_35_out-sample.out5_1_35"].shape == (1, 512, 512, 3)


def test_every_field_of_the_single_form(tmp_path: Path) -> None:
    (metadata,) = read_metadata(write(tmp_path / "conv.0_meta.json", CONV))
    assert metadata.node == "conv.0"
    assert metadata.path == str(tmp_path / "conv.0_meta.json")
    assert metadata.ops == (FusedOp("/conv_in/Conv", "SDConv", ("x",), ("w",), ("y",), {"kernel_shape": ("3", "3")}),)
    assert metadata.buffers == {"in": Buffer(256, ("x",))}
    weight = MetaTensor("const", "bfp16ebs8", (41600,), 41600, 0, ".cache\\conv_0.const", 41600, None)
    assert metadata.tensors == {"w": weight}


def test_combined_form_gives_one_value_per_node(tmp_path: Path) -> None:
    empty = {"dd_meta_major_version": 1, "dd_meta_minor_version": 0, "op_list": [], "fused_tensors": {}}
    path = write(tmp_path / "meta.json", {"first_meta": CONV, "second": empty})
    first, second = read_metadata(path)
    assert (first.node, second.node) == ("first_meta", "second")  # keys have no suffix to lose
    assert (len(first.ops), second.ops) == (1, ())
    assert (second.version, second.combined, second.path) == ((1, 0), True, str(path))


def test_ops_of_the_same_name_are_kept(tmp_path: Path) -> None:
    twice = {"op_list": [{"name": "a", "type": "SDAdd"}, {"name": "a", "type": "SDMul"}]}
    (metadata,) = read_metadata(write(tmp_path / "n_meta.json", twice))
    assert [(op.name, op.type) for op in metadata.ops] == [("a", "SDAdd"), ("a", "SDMul")]


def test_what_loaders_do_without_may_be_absent(tmp_path: Path) -> None:
    (metadata,) = read_metadata(write(tmp_path / "n_meta.json", {"op_list": [{"name": "a", "type": "SDAdd"}]}))
    assert metadata.ops == (FusedOp("a", "SDAdd", (), (), (), {}),)
    assert (metadata.version, metadata.buffers, metadata.tensors) == (None, {}, {})


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        (None, {}),
        ({"a": None}, {"a": ()}),
        ({"a": {"type": "int", "value": None}}, {"a": ()}),  # AMD's writer does this to kinds it does not know
        ({"a": {"type": "int", "value": ["064"]}}, {"a": ("064",)}),
        ({"a": {"type": "int", "value": [64]}}, {"a": ("64",)}),
    ],
)
def test_attribute_values(tmp_path: Path, attrs: object, expected: object) -> None:
    (metadata,) = read_metadata(write(tmp_path / "n_meta.json", with_op(attrs=attrs)))
    assert metadata.ops[0].attrs == expected


def test_unknown_keys_are_skipped(tmp_path: Path) -> None:
    newer = {**with_op(pdi_id=4), "state_table_updates": [[1]], "aux_info": {"is_llm": False, "states": []}}
    assert len(read_metadata(write(tmp_path / "n_meta.json", newer))[0].ops) == 1


def test_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    path = tmp_path / "n_meta.json"
    path.write_text(json.dumps(CONV), encoding="utf-8-sig")
    assert len(read_metadata(path)[0].ops) == 1


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        {"w": {"file_name": "w.bin", "file_size": 4, "shape": [1], "dtype": "float"}},  # what AMD's `extract` writes
        {"ctrl_pkt": 5},
        {"node": CONV, "other": {"ops": []}},
    ],
)
def test_json_without_an_op_list_is_foreign(tmp_path: Path, content: object) -> None:
    assert "no DynamicDispatch metadata" in foreign(write(tmp_path / "x_ctrl_meta.json", content))


def test_a_hostile_key_is_quoted_and_cut(tmp_path: Path) -> None:
    message = foreign(write(tmp_path / "x_meta.json", {"\x1b[2J\n" + "k" * 100_000: 5}))
    assert "\\x1b[2J\\n" in message
    assert "\x1b" not in message
    assert len(message) < 1000


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (with_op(name=5), "$.op_list[0].name"),
        (with_op(type=None), "$.op_list[0].type"),
        (with_op(in_args="x"), "$.op_list[0].in_args"),
        ({**CONV, "op_list": None}, "$.op_list"),
        ({**CONV, "tensor_map": {"w": {**CONV["tensor_map"]["w"], "offset": "0"}}}, "$.tensor_map[...].offset"),
        ({"node": {**CONV, "op_list": [5]}}, "$.op_list[0]` in 'node'"),
    ],
)
def test_wrong_types_are_named_with_their_place(tmp_path: Path, content: object, where: str) -> None:
    assert where in refusal(write(tmp_path / "n_meta.json", content))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "an empty file"),
        (b" \n", "an empty file"),
        (b'{"op_list":[', "not JSON: Input data was truncated (12 bytes)"),
        (b'{"op_list":[]}!', "not JSON: JSON is malformed: trailing characters"),
        (b"<!doctype html>", "not JSON: JSON is malformed: invalid character (byte 0)"),
        (b'{"op_list":[{"name":"\xff"}]}', "not UTF-8 (byte 21)"),
        ('{"op_list":[]}'.encode("utf-16"), "not UTF-8 (byte 0)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a Git LFS pointer"),
        (b'{"op_list":[],"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    ],
)
def test_broken_content_is_refused_with_a_reason(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "n_meta.json"
    path.write_bytes(content)
    assert problem in refusal(path)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "absent_meta.json")
    assert "a folder, not a file" in refusal(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe_meta.json")
    assert "not a regular file" in refusal(tmp_path / "pipe_meta.json")


def test_a_file_too_large_to_decode_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "n_meta.json", CONV)
    size = path.stat().st_size
    monkeypatch.setattr("ddinspect.artifacts.sidefile.LARGEST", size - 1)
    assert f"{size} bytes, more than" in refusal(path)
    monkeypatch.setattr("ddinspect.artifacts.sidefile.LARGEST", size)
    assert len(read_metadata(path)) == 1
