from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ddinspect.artifacts import components
from ddinspect.artifacts.locate import Target, expand, find_metadata, find_report_text, resolve
from ddinspect.errors import UnreadableInputError

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
TABLE = "   DynamicDispatch Offload - not offloaded   \n+---+\n"
HEADINGS = "| Op Type | Count | Inputs | Outputs |\n"


def put(root: Path, *names: str, content: str = "onnx") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")


def put_meta(root: Path, *names: str, op: str = "a") -> None:
    put(root, *names, content=json.dumps({"op_list": [{"name": op, "type": "SDAdd"}]}))


def nodes(model: Path) -> list[str]:
    return [metadata.node for metadata in find_metadata(model).metadata]


def where(root: Path) -> dict[str | None, str]:
    """Component -> path inside the root."""
    return {target.component: Path(target.path).relative_to(root).as_posix() for target in resolve(root).targets}


def link(at: Path, to: Path | str) -> None:
    try:
        at.symlink_to(to, target_is_directory=True)
    except OSError:
        pytest.skip("this system does not let us make symlinks")


@pytest.mark.parametrize("cache", ["cache", ".cache", "."])
def test_metadata_where_the_runtime_looks_and_in_the_models_folder(tmp_path: Path, cache: str) -> None:
    put_meta(tmp_path, f"dd/{cache}/b_meta.json", f"dd/{cache}/a_meta.json")
    assert nodes(tmp_path / "dd/replaced.onnx") == ["a", "b"]


def test_cache_goes_before_hidden_cache_and_combined_files_go_last(tmp_path: Path) -> None:
    put_meta(tmp_path, "cache/n_meta.json", op="first")
    put_meta(tmp_path, ".cache/n_meta.json", op="second")
    put(tmp_path, "cache/meta.json", content=json.dumps({"n": {"op_list": [{"name": "third", "type": "SDAdd"}]}}))
    found = find_metadata(tmp_path / "replaced.onnx").metadata
    assert [metadata.ops[0].name for metadata in found] == ["first", "second", "third"]


def test_cache_beside_the_dd_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_meta(tmp_path, "unet/cache/n_meta.json")
    (tmp_path / "unet/dd").mkdir()
    assert nodes(tmp_path / "unet/dd/replaced.onnx") == ["n"]
    monkeypatch.chdir(tmp_path / "unet/dd")
    assert nodes(Path("replaced.onnx")) == ["n"]


def test_cache_in_the_dd_folder_beside_a_copy_of_the_model(tmp_path: Path) -> None:
    put_meta(tmp_path, "unet/dd/cache/n_meta.json")
    assert nodes(tmp_path / "unet/model.onnx") == ["n"]


def test_metadata_of_other_components_is_left_alone(tmp_path: Path) -> None:
    put_meta(tmp_path, "unet/dd/cache/u_meta.json", "vae/dd/cache/v_meta.json", "cache/root_meta.json")
    assert nodes(tmp_path / "unet/dd/replaced.onnx") == ["u"]
    assert nodes(tmp_path / "unet/512/replaced.onnx") == []
    assert nodes(tmp_path / "unet/replaced.onnx") == ["u"]
    assert nodes(tmp_path / "replaced.onnx") == ["root"]


def test_a_cache_that_is_a_symlink_to_the_other_is_read_once(tmp_path: Path) -> None:
    put_meta(tmp_path, "cache/n_meta.json")
    link(tmp_path / ".cache", "cache")
    assert nodes(tmp_path / "replaced.onnx") == ["n"]


def test_files_that_are_no_metadata_are_passed_over_with_a_note(tmp_path: Path) -> None:
    put_meta(tmp_path, "cache/n_meta.json")
    put(tmp_path, "cache/x_ctrl_meta.json", content='{"ctrl": 5}')
    put(tmp_path, "cache/lfs_meta.json", content=LFS)
    put(tmp_path, "cache/cut_meta.json", content='{"op_list"')
    put(tmp_path, "cache/config.json", "cache/n_0.const")
    found = find_metadata(tmp_path / "replaced.onnx")
    assert [metadata.node for metadata in found.metadata] == ["n"]
    cut, lfs, foreign = found.notes
    assert "cut_meta.json: not JSON" in cut
    assert "lfs_meta.json: a Git LFS pointer" in lfs
    assert "x_ctrl_meta.json: no DynamicDispatch metadata" in foreign


def test_a_folder_that_may_not_be_listed_gives_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert "cache: cannot be listed: Permission denied" in find_metadata(tmp_path / "replaced.onnx").notes[0]


def test_given_files_and_folders_replace_the_search(tmp_path: Path) -> None:
    put_meta(tmp_path, "cache/near_meta.json", "far/cache/far_meta.json", "one/one_meta.json")
    found = find_metadata(tmp_path / "replaced.onnx", [tmp_path / "one/one_meta.json", tmp_path / "far"])
    assert [metadata.node for metadata in found.metadata] == ["one", "far"]
    assert [m.node for m in find_metadata("x.onnx", [tmp_path / "far/cache"]).metadata] == ["far"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("foreign_meta.json", "no DynamicDispatch metadata"),
        ("foreign", "no DynamicDispatch metadata"),
        ("absent.json", "no such file"),
        ("empty", "a folder without metadata"),
    ],
)
def test_given_paths_must_hold_metadata(tmp_path: Path, given: str, problem: str) -> None:
    put(tmp_path, "foreign_meta.json", "foreign/x_meta.json", content="{}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableInputError, match=problem):
        find_metadata(tmp_path / "replaced.onnx", [tmp_path / given])


def test_report_text_beside_the_model(tmp_path: Path) -> None:
    assert find_report_text(tmp_path / "replaced.onnx") is None
    put(tmp_path, "onnx_report.txt", content=TABLE)
    assert find_report_text(tmp_path / "replaced.onnx") == str(tmp_path / "onnx_report.txt")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("replaced.onnx", b"\x08\x0a:\x00\x00", "model"),
        ("model.bin", b"\x08\x0aDynamicDispatch Offload\x00\x00", "model"),
        ("notes.txt", b"nothing of ours", "model"),
        ("quoting.bin", b"\x08\x0aDynamicDispatch Offload - offloaded\x00\n\x00", "model"),
        ("empty.onnx", b"", "model"),
        ("pointer.onnx", LFS.encode(), "model"),
        ("onnx_report.txt", b"", "text"),
        ("saved.txt", b"==== REPORTING ====\r\n" + TABLE.encode(), "text"),
        ("bom.log", b"\xef\xbb\xbf" + TABLE.encode(), "text"),
        ("untitled.log", HEADINGS.encode(), "text"),
        ("names.out", HEADINGS.replace("Count", "Name").encode(), "text"),
        ("box.txt", HEADINGS.replace("|", "│").encode() + "│".encode()[:1], "text"),
        ("box16.txt", HEADINGS.replace("|", "│").encode("utf-16"), "text"),
        ("utf16.txt", TABLE.encode("utf-16"), "text"),
        ("utf16le.txt", TABLE.encode("utf-16-le"), "text"),
        ("utf16be.txt", TABLE.encode("utf-16-be"), "text"),
        ("base.json", b' \n{"schema": "ddinspect.report/1"}', "saved"),
        ("powershell.json", '{"schema": 1}'.encode("utf-16"), "saved"),
    ],
)
def test_files_go_by_content(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    resolved = resolve(tmp_path / name)
    assert [(target.kind, target.path, target.component) for target in resolved.targets] == [
        (kind, str(tmp_path / name), None)
    ]
    assert not resolved.package


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_left_to_the_model_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert resolve(tmp_path / "pipe").targets[0].kind == "model"


@pytest.mark.parametrize("path", ["absent.onnx", "a\0b"])
def test_a_path_that_is_not_there(path: str) -> None:
    with pytest.raises(UnreadableInputError):
        resolve(path)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["dd/replaced.onnx", "dd/other.onnx", "model.onnx", "unet.onnx"], "dd/replaced.onnx"),
        (["dd/named.onnx", "replaced.onnx"], "dd/named.onnx"),
        (["replaced.onnx", "model.onnx"], "replaced.onnx"),
        (["single.ONNX", "model.onnx.data", "._single.onnx"], "single.ONNX"),
        (["model.onnx", "optimized.onnx"], "model.onnx"),
        (["unet.onnx", "unet_fp16.onnx"], "unet.onnx"),
        (["dynamic/dd/replaced.onnx", "model.onnx"], "dynamic/dd/replaced.onnx"),
        (["512/dd/unet.onnx", "512/dd/unet_old.onnx"], "512/dd/unet.onnx"),
        (["512/replaced.onnx"], "512/replaced.onnx"),
        (["dd/onnx_report.txt", "model.onnx"], "model.onnx"),
        (["dd/onnx_report.txt"], "dd/onnx_report.txt"),
        (["onnx_report.txt"], "onnx_report.txt"),
        (["512/onnx_report.txt"], "512/onnx_report.txt"),
        (["replaced.onnx", "before/model.onnx"], "replaced.onnx"),
    ],
)
def test_one_model_of_a_component_folder(tmp_path: Path, files: list[str], expected: str) -> None:
    root = tmp_path / "unet"
    put(root, *files)
    resolved = resolve(root)
    assert where(root) == {None: expected}
    assert not resolved.package
    assert resolved.targets[0].kind == ("text" if expected.endswith(".txt") else "model")


def test_a_dd_folder_named_as_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "unet/dd/unet.onnx", "unet/dd/second.onnx", "unet/dd/extracted/x.onnx")
    monkeypatch.chdir(tmp_path / "unet/dd")
    assert {target.path for target in resolve(".").targets} == {"unet.onnx", str(Path("extracted/x.onnx"))}


def test_dd_folders_of_one_component_are_keyed_by_path(tmp_path: Path) -> None:
    put(tmp_path, *(f"{name}/dd/replaced.onnx" for name in ("512", "1024", "dynamic", "512_83")), "model.onnx")
    resolved = resolve(tmp_path)
    assert resolved.package
    assert [(target.component, target.resolution) for target in resolved.targets] == [
        ("1024/dd", "1024"), ("512/dd", "512"), ("512_83/dd", "512_83"), ("dynamic/dd", "dynamic"),
    ]  # fmt: skip


def test_package_of_components(tmp_path: Path) -> None:
    put(tmp_path, "unet/dd/replaced.onnx", "unet/model.onnx", "vae_decoder/dynamic/dd/replaced.onnx")
    put(tmp_path, "text_encoder/model.onnx", "model_index.json", "scheduler/scheduler_config.json")
    put(tmp_path, ".git/x/model.onnx", "node_modules/y/model.onnx", "unet/dd/cache/model.onnx")
    put(tmp_path, "vae_encoder/dd/onnx_report.txt", content=TABLE)
    assert where(tmp_path) == {
        "text_encoder": "text_encoder/model.onnx",
        "unet": "unet/dd/replaced.onnx",
        "vae_decoder": "vae_decoder/dynamic/dd/replaced.onnx",
        "vae_encoder": "vae_encoder/dd/onnx_report.txt",
    }
    assert [target.component for target in resolve(tmp_path).targets] == sorted(where(tmp_path), key=str)
    assert resolve(tmp_path).package


def test_package_in_groups(tmp_path: Path) -> None:
    # The Stable Diffusion 3 layout.
    put(tmp_path, "common/vae_decoder/512/dd/replaced.onnx", "common/text_encoder/text_encoder.onnx")
    put(tmp_path, "normal/transformer/512_83/dd/replaced.onnx", "normal/transformer/1024_83/dd/replaced.onnx")
    put(tmp_path, "normal/controlnet-canny/dynamic/dd/replaced.onnx")
    assert list(where(tmp_path)) == [
        "common/text_encoder",
        "common/vae_decoder",
        "normal/controlnet-canny",
        "normal/transformer/1024_83/dd",
        "normal/transformer/512_83/dd",
    ]


def test_package_with_one_component_is_a_package(tmp_path: Path) -> None:
    put(tmp_path, "unet/dd/replaced.onnx")
    (target,) = resolve(tmp_path).targets
    assert target == Target("model", str(tmp_path / "unet" / "dd" / "replaced.onnx"), "unet")
    assert resolve(tmp_path).package


def test_models_none_of_which_stands_out_are_all_targets(tmp_path: Path) -> None:
    put(tmp_path, "graphs/b.onnx", "graphs/a.onnx", "top.onnx")
    assert where(tmp_path) == {"graphs/a.onnx": "graphs/a.onnx", "graphs/b.onnx": "graphs/b.onnx", ".": "top.onnx"}


def test_folder_names_of_any_script(tmp_path: Path) -> None:
    put(tmp_path, "模型 [v1]/unet é/dd/replaced.onnx")
    put_meta(tmp_path, "模型 [v1]/unet é/dd/cache/层_meta.json")
    assert where(tmp_path / "模型 [v1]") == {"unet é": "unet é/dd/replaced.onnx"}
    assert nodes(tmp_path / "模型 [v1]/unet é/dd/replaced.onnx") == ["层"]


def test_a_folder_without_a_model_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path, "cache/model.onnx", "a/b/c/d/e/f/model.onnx", "readme.md")
    with pytest.raises(UnreadableInputError, match=r"without a model.*dd/replaced\.onnx.*onnx_report\.txt"):
        resolve(tmp_path)
    put(tmp_path, "a/b/c/d/e/model.onnx")  # five levels are looked at, six are not
    assert where(tmp_path) == {"a/b/c/d/e": "a/b/c/d/e/model.onnx"}


def test_symlink_loops_end(tmp_path: Path) -> None:
    put(tmp_path, "unet/model.onnx")
    link(tmp_path / "unet/up", tmp_path)
    link(tmp_path / "self", "self")
    assert where(tmp_path) == {"unet": "unet/model.onnx"}


def test_a_symlink_to_another_component_is_a_component(tmp_path: Path) -> None:
    put(tmp_path, "unet/512/dd/replaced.onnx")
    link(tmp_path / "unet/1024", "512")
    assert list(where(tmp_path)) == ["unet/1024/dd", "unet/512/dd"]


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "unet/dd/replaced.onnx", "locked/dd/replaced.onnx")
    scandir = os.scandir

    def refuse_locked(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse_locked)
    assert list(where(tmp_path)) == ["unet"]
    with pytest.raises(UnreadableInputError, match="cannot be listed: Permission denied"):
        resolve(tmp_path / "locked")


def test_a_tree_of_too_many_folders_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a/model.onnx", "b/model.onnx")
    monkeypatch.setattr(components, "FOLDERS", 2)
    with pytest.raises(UnreadableInputError, match="more than 2 folders"):
        resolve(tmp_path)


def test_patterns_are_expanded_unless_they_exist_as_written(tmp_path: Path) -> None:
    put(tmp_path, "b.onnx", "a.onnx", "[x].onnx", "x.onnx")

    def inside(*names: str) -> list[str]:
        return [Path(path).name for path in expand([str(tmp_path / name) for name in names])]

    assert inside("[ab].onnx", "x.onnx") == ["a.onnx", "b.onnx", "x.onnx"]
    assert inside("?.onnx") == ["a.onnx", "b.onnx", "x.onnx"]
    assert inside("[x].onnx") == ["[x].onnx"]
    assert inside("absent.onnx") == ["absent.onnx"]
    with pytest.raises(UnreadableInputError, match="matches this pattern"):
        inside("*.bin")


def test_given_folder_may_hold_foreign_files_too(tmp_path: Path) -> None:
    put_meta(tmp_path, "far/cache/far_meta.json")
    put(tmp_path, "far/cache/x_ctrl_meta.json", content="{}")
    found = find_metadata(tmp_path / "replaced.onnx", [tmp_path / "far"])
    assert [metadata.node for metadata in found.metadata] == ["far"]
    assert len(found.notes) == 1
    assert "x_ctrl_meta.json" in found.notes[0]


@pytest.mark.parametrize("resolution", ["dynamic", "512", "1024_83"])
def test_cache_of_a_component_with_resolutions(resolution: str, tmp_path: Path) -> None:
    put_meta(tmp_path, "unet/cache/dd_meta.json", "cache/other_meta.json")
    model = tmp_path / "unet" / resolution / "dd" / "replaced.onnx"
    model.parent.mkdir(parents=True)
    assert [metadata.node for metadata in find_metadata(model).metadata] == ["dd"]


def test_an_empty_path_is_no_pattern_for_the_working_directory() -> None:
    with pytest.raises(UnreadableInputError, match="an empty path"):
        expand([""])
