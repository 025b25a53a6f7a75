from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import onnx
import pytest

from ddinspect.onnxfile import schema

MODEL = Path(__file__).parents[2] / "fixtures/sd15-vae-decoder/dd/replaced.onnx"


def run(code: str) -> str:
    """What a Python of its own prints."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_reading_a_model_loads_neither_numpy_nor_the_onnx_package() -> None:
    code = f"""
import sys
from ddinspect.onnxfile.reader import read_model
from ddinspect.onnxfile.scopes import expand
print(len(expand(read_model({str(MODEL)!r})).scopes[0].nodes))
print([name for name in ("numpy", "ml_dtypes", "onnx", "google.protobuf") if name in sys.modules])
"""
    assert run(code).splitlines() == ["5", "['google.protobuf']"]


@pytest.mark.parametrize("order", [("onnx", "ddinspect.onnxfile.schema"), ("ddinspect.onnxfile.schema", "onnx")])
def test_the_classes_are_those_of_onnx(order: tuple[str, str]) -> None:
    code = f"""
from importlib import import_module
for name in {order!r}:
    module = import_module(name)
    if name != "onnx":
        classes = module.message_classes()
import onnx
print(all(getattr(onnx, name) is getattr(classes, name) for name in ("ModelProto", "TensorProto", "FunctionProto")))
"""
    assert run(code) == "True"


def spec(folder: Path | None) -> ModuleSpec:
    made = ModuleSpec("onnx", None)
    made.submodule_search_locations = [] if folder is None else [str(folder)]
    return made


@pytest.mark.parametrize("place", ["no package", "no folder", "another folder"])
def test_a_package_laid_out_another_way_is_imported(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"no package": None, "no folder": spec(None), "another folder": spec(tmp_path)}[place]
    monkeypatch.setattr(schema, "find_spec", lambda _: found)
    monkeypatch.setattr(schema, "_GENERATED", "not imported yet")
    assert schema.message_classes.__wrapped__() is onnx.onnx_ml_pb2


def test_where_onnx_is_imported_its_module_is_taken() -> None:
    assert schema.message_classes.__wrapped__() is onnx.onnx_ml_pb2


def test_the_generated_module_is_taken_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_GENERATED", "not imported yet")
    alone = schema.message_classes.__wrapped__()
    assert alone is not onnx.onnx_ml_pb2
    assert alone.ModelProto is onnx.ModelProto
