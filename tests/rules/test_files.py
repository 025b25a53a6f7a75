from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from faulty_graphs import external_at, node_property, side_file
from messages import message_of, messages_of

from ddinspect import report
from fixtures.small_graphs.build import f32, model, node, save
from fixtures.small_graphs.t05_external import DATA, LFS_POINTER, external, t5_location

needs_links = pytest.mark.skipif(os.name == "nt", reason="Windows lets only some users make symbolic links")


def weights(*places: tuple[str, int], name: str = "W") -> Callable[[Path], Path]:
    """A graph with one external tensor of so many bytes at each location."""

    def made(folder: Path) -> Path:
        tensors = [external(f"{name}{i}", (size // 4,), place, size) for i, (place, size) in enumerate(places)]
        total = node("Sum", [tensor.name for tensor in tensors], ["y"], "sum")
        return save(folder, model([total], [], [f32("y", None)], initializers=tensors, opsets={"": 17}))

    return made


def test_absent_data_gives_the_total(tmp_path: Path) -> None:
    # 40000 x 20000 values of 4 bytes.
    assert message_of("DD301", "t5_external_data", tmp_path / "one") == (
        "3.2 GB external data, absent: `model.onnx.data` with 1 tensor"
    )
    several = weights(("a", 1000), ("a", 500), ("b", 4), ("c", 8))
    assert messages_of("DD301", several, tmp_path / "several") == [
        "1.5 kB external data, absent: `a` with 2 tensors",
        "12 B external data, absent: `b`, `c` with 1 tensor each (2 files)",
    ]


def test_a_folder_is_no_data_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert message_of("DD301", weights(("a", 4)), tmp_path).endswith("absent: `a` with 1 tensor")


def test_data_in_a_folder_below_is_found(tmp_path: Path) -> None:
    path = weights(("data/a", 4))(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(bytes(4))
    assert [finding.rule for finding in report.analyze(path).findings] == ["DD001"]


def test_refused_locations_are_given_by_reason(tmp_path: Path) -> None:
    places = weights(("../a", 4), ("../../b", 4), ("/c", 4), ("C:d", 4), ("e\\f", 4), ("", 4), ("g", 4), ("h\0i", 4))
    refused = " of external data refused and not opened "
    assert [message.replace(refused, " ") for message in messages_of("DD302", places, tmp_path)] == [
        "2 locations (outside the model's folder): `../a`, `../../b`",
        "2 locations (absolute): `/c`, `C:d`",
        "1 location (back-slashes, which only Windows takes for folders): `e\\f`",
        "1 location (empty): ``",
        "1 location (not a path): `h\\x00i`",
    ]


def test_refused_files_are_not_looked_at(tmp_path: Path) -> None:
    """The file is there, too short and a pointer: none of that is said, since it is not for the model to ask."""
    (tmp_path / DATA).write_bytes(LFS_POINTER.format(size=4).encode())
    path = weights((f"../{DATA}", 4000))(tmp_path / "dd")
    assert [finding.rule for finding in report.analyze(path).findings] == ["DD302", "DD001"]


@needs_links
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(64))

    def linked(folder: Path) -> Path:
        path = t5_location(folder)
        (folder / DATA).symlink_to(tmp_path / "secret")
        return path

    assert message_of("DD302", linked, tmp_path / "dd") == (
        "1 location of external data refused and not opened (behind a symbolic link out of the model's folder): "
        "`model.onnx.data`"
    )


@needs_links
def test_a_download_cache_of_links_is_sound(tmp_path: Path) -> None:
    """Hugging Face's cache keeps all files of a model in one folder and a folder of links to them for each version."""

    def cached(folder: Path) -> Path:
        blobs, snapshot = folder / "blobs", folder / "snapshots" / "1" / "unet"
        t5_location(blobs, content=bytes(64)).rename(blobs / "0a1b")
        (blobs / DATA).rename(blobs / "2c3d")
        snapshot.mkdir(parents=True)
        (snapshot / "model.onnx").symlink_to("../../../blobs/0a1b")
        (snapshot / DATA).symlink_to("../../../blobs/2c3d")
        return snapshot / "model.onnx"

    assert messages_of("DD302", cached, tmp_path / "a") == []
    assert messages_of("DD301", cached, tmp_path / "b") == []


@needs_links
def test_a_link_inside_the_folder_is_sound(tmp_path: Path) -> None:
    def linked(folder: Path) -> Path:
        path = t5_location(folder)
        (folder / "real.data").write_bytes(bytes(63))
        (folder / DATA).symlink_to("real.data")
        return path

    assert messages_of("DD302", linked, tmp_path / "a") == []
    assert len(messages_of("DD303", linked, tmp_path / "b")) == 1


def test_short_data_says_what_is_cut_off(tmp_path: Path) -> None:
    def short(folder: Path) -> Path:
        path = weights((DATA, 8), (DATA, 16))(folder)
        (folder / DATA).write_bytes(bytes(12))
        return path

    assert message_of("DD303", short, tmp_path) == (
        "`model.onnx.data` has 12 bytes, the model needs 16: 1 tensor cut off, `W1`"
    )


def test_without_a_stated_length_the_dims_count(tmp_path: Path) -> None:
    def no_length(folder: Path, *, length: int) -> Path:
        tensor = external("W", (4, 4), DATA, 64)  # FLOAT: 4 bytes a value, so 64 from byte 100 on
        tensor.external_data[1].value = "100"
        del tensor.external_data[2]
        made = model([node("Relu", ["W"], ["y"], "relu")], [], [f32("y", 4, 4)], initializers=[tensor])
        path = save(folder, made)
        (folder / DATA).write_bytes(bytes(length))
        return path

    assert "needs 164" in message_of("DD303", partial(no_length, length=163), tmp_path / "short")
    assert messages_of("DD303", partial(no_length, length=164), tmp_path / "whole") == []


def test_pointers_are_named(tmp_path: Path) -> None:
    assert message_of("DD304", partial(side_file, name="cache/x.const"), tmp_path / "cache") == (
        "1 Git LFS pointer where a file should be: `cache/x.const`"
    )
    fconst = partial(side_file, name="dd_metastate_Unet_dd.fconst")
    assert message_of("DD304", fconst, tmp_path / "side").endswith(": `dd_metastate_Unet_dd.fconst`")


def test_a_metadata_file_that_is_a_pointer_explains_the_missing_metadata(tmp_path: Path) -> None:
    path = side_file(tmp_path, name="cache/dd_meta.json")
    rules = {finding.rule for finding in report.analyze(path).findings}
    assert rules == {"DD002", "DD011", "DD304"}


def test_a_report_text_that_is_a_pointer_keeps_no_model_from_loading(tmp_path: Path) -> None:
    (finding,) = report.analyze(side_file(tmp_path, name="onnx_report.txt")).findings
    assert finding.rule == "DD011"
    assert "git lfs pull" in finding.message


def test_a_text_that_only_quotes_the_marker_is_none(tmp_path: Path) -> None:
    def quoting(folder: Path) -> Path:
        path = side_file(folder, name="cache/x.const")
        (folder / "cache" / "x.const").write_bytes(LFS_POINTER.encode() + bytes(2000))
        return path

    assert messages_of("DD304", quoting, tmp_path) == []


def test_a_leaked_path_is_not_repeated(tmp_path: Path) -> None:
    for name, case in (("home", "home_path_in_properties"), ("windows", "windows_path_in_properties")):
        message = message_of("DD305", case, tmp_path / name)
        assert message == "metadata_props `onnx_utils_load` of the model holds a path of the machine that made it"
    nodes = message_of("DD305", partial(node_property, value='File "/home/jane/u.py"'), tmp_path / "node")
    assert nodes == ("metadata_props `pkg.torch.onnx.stack_trace` of 1 node holds a path of the machine that made it")


@pytest.mark.parametrize("where", ["initializer", "constant", "function", "body", "sparse"])
def test_external_data_counts_wherever_it_is_stated(where: str, tmp_path: Path) -> None:
    absent = partial(external_at, where=where, content=None)
    assert message_of("DD301", absent, tmp_path) == "64 B external data, absent: `model.onnx.data` with 1 tensor"
