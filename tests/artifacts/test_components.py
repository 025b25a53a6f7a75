"""The layouts of AMD's packages, as the module lists them; `test_locate` has what `resolve` makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddinspect.artifacts.components import component_name, find_components
from ddinspect.errors import UnreadableInputError

Place = tuple[str, str, str | None]  # path, component, resolution


def found(root: Path, *files: str) -> list[Place]:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return [
        (item.path.relative_to(root).as_posix(), item.component.as_posix(), item.resolution)
        for item in find_components(root)
    ]


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (["unet/dd/replaced.onnx"], [("unet/dd/replaced.onnx", "unet", None)]),
        (["unet/dynamic/dd/replaced.onnx"], [("unet/dynamic/dd/replaced.onnx", "unet", "dynamic")]),
        (
            ["unet/512/dd/replaced.onnx", "unet/1024_83/dd/replaced.onnx"],
            [("unet/1024_83/dd/replaced.onnx", "unet", "1024_83"), ("unet/512/dd/replaced.onnx", "unet", "512")],
        ),
        (["unet/512x768/model.onnx"], [("unet/512x768/model.onnx", "unet", "512x768")]),
        (["unet/model.onnx", "unet/dd/replaced.onnx"], [("unet/dd/replaced.onnx", "unet", None)]),
        (["text_encoder/model.onnx"], [("text_encoder/model.onnx", "text_encoder", None)]),
        (
            ["normal/unet/512/dd/replaced.onnx", "common/vae/dd/replaced.onnx"],
            [
                ("common/vae/dd/replaced.onnx", "common/vae", None),
                ("normal/unet/512/dd/replaced.onnx", "normal/unet", "512"),
            ],
        ),
        (["replaced.onnx", "below/model.onnx"], [("replaced.onnx", ".", None)]),
        (["vae/vae.onnx", "vae/other.onnx"], [("vae/vae.onnx", "vae", None)]),
        (["vae/a.onnx", "vae/b.onnx"], [("vae/a.onnx", "vae", None), ("vae/b.onnx", "vae", None)]),
        (["unet/dd/onnx_report.txt"], [("unet/dd/onnx_report.txt", "unet", None)]),
        (["unet/dd/onnx_report.txt", "unet/dd/replaced.onnx"], [("unet/dd/replaced.onnx", "unet", None)]),
        ([".hidden/model.onnx", "cache/model.onnx", "unet/.model.onnx", "unet/model.onnx.data"], []),
    ],
)
def test_layouts(tmp_path: Path, files: list[str], places: list[Place]) -> None:
    assert found(tmp_path, *files) == places


def test_the_kind_says_whether_the_model_is_there(tmp_path: Path) -> None:
    found(tmp_path, "a/dd/onnx_report.txt", "b/dd/replaced.onnx")
    assert [item.kind for item in find_components(tmp_path)] == ["text", "model"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="cannot be listed"):
        find_components(tmp_path / "absent")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("p/unet", "unet"), ("p/unet/dd", "unet"), ("p/unet/512", "unet"), ("p/unet/512/dd", "unet"),
        ("p/unet/dynamic/dd", "unet"), ("p/unet/../vae/dd", "vae"), ("p/512a", "512a"),
    ],
)  # fmt: skip
def test_component_name(folder: str, name: str) -> None:
    assert component_name(Path(folder)) == name
