"""The library: from a path to a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ddinspect
from ddinspect.artifacts.locate import Resolved, Target, resolve
from ddinspect.errors import UnreadableInputError, UsageError
from ddinspect.report import analyze_target, report_package, select
from fixtures import small_graphs

FIXTURES = Path(__file__).parents[1] / "fixtures"
DECODER = FIXTURES / "sd15-vae-decoder"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copytree(DECODER, tmp_path / "vae_decoder")
    for resolution in ("512", "dynamic"):
        small_graphs.write("t11_chain", tmp_path / "unet" / resolution / "dd")
    return tmp_path


@pytest.mark.parametrize("path", [DECODER, str(DECODER / "dd" / "replaced.onnx"), DECODER / "dd" / "onnx_report.txt"])
def test_analyze_one_model_or_text(path: str | Path) -> None:
    report = ddinspect.analyze(path)
    assert (report.summary.dd_ratio, report.summary.fused_ops) == (95.7, 89)


def test_analyze_refuses_several_models_and_says_which(package: Path) -> None:
    with pytest.raises(UsageError, match="unet/512/dd, unet/dynamic/dd, vae_decoder"):
        ddinspect.analyze(package)


def test_analyze_package_has_all_components(package: Path) -> None:
    components = ddinspect.analyze_package(package).components
    ratios = {key: report.summary.dd_ratio for key, report in components.items()}
    assert ratios == {"unet/512/dd": 29.41, "unet/dynamic/dd": 29.41, "vae_decoder": 95.7}


def test_one_unreadable_component_does_not_hide_the_others(package: Path) -> None:
    (package / "unet" / "512" / "dd" / "replaced.onnx").write_bytes(b"")
    report, errors = report_package(resolve(package))
    assert set(report.components) == {"unet/dynamic/dd", "vae_decoder"}
    assert ["an empty file" in str(error) for error in errors] == [True]
    with pytest.raises(UnreadableInputError, match="an empty file"):
        ddinspect.analyze_package(package)


@pytest.mark.parametrize(
    ("components", "resolutions", "picked"),
    [
        ((), (), 3),
        (("unet",), (), 2),
        (("vae_decoder", "unet"), (), 3),
        (("unet/512",), (), 1),
        ((), ("dynamic",), 1),
        (("unet",), ("512",), 1),
    ],
)
def test_select(components: tuple[str, ...], resolutions: tuple[str, ...], picked: int, package: Path) -> None:
    assert len(select(resolve(package), components, resolutions).targets) == picked


@pytest.mark.parametrize("name", ["une", "None", "512x", "vae"])
def test_select_nothing_is_an_error_that_lists_what_there_is(name: str, package: Path) -> None:
    with pytest.raises(UsageError, match=f"nothing here is called {name}; there is: unet/512/dd"):
        select(resolve(package), (name,))
    with pytest.raises(UsageError):
        select(Resolved(targets=(Target(kind="model", path="m.onnx"),), package=False), ("None",))


def test_a_saved_report_is_no_model() -> None:
    with pytest.raises(UnreadableInputError, match="a saved report, not a model"):
        analyze_target(Target(kind="saved", path="saved.json"))


def test_public_names_are_listed_and_there() -> None:
    assert {"analyze", "analyze_package", "Report", "DDInspectError"} <= set(dir(ddinspect))
    assert all(getattr(ddinspect, name) for name in ddinspect.__all__)
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        _ = ddinspect.analyse


def test_metadata_may_be_one_path_or_several(tmp_path: Path) -> None:
    model = shutil.copy(DECODER / "dd" / "replaced.onnx", tmp_path)
    cache = DECODER / "dd" / "cache"
    for meta in (cache, str(cache), [cache]):
        assert ddinspect.analyze(model, meta=meta).summary.fused_ops_source == "meta"
    assert ddinspect.analyze(model).summary.fused_ops_source == "replaced"


def test_metadata_is_about_one_model(package: Path) -> None:
    cache = DECODER / "dd" / "cache"
    with pytest.raises(UsageError, match="about one model, not 3; pick a component"):
        report_package(resolve(package), meta=[cache])
    picked, errors = report_package(select(resolve(package), ("vae_decoder",)), meta=[cache])
    assert (len(picked.components), errors) == (1, ())
