"""The command `ddinspect report`: what it prints where, and with which exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from onnx import helper

from ddinspect.cli.main import run
from fixtures import small_graphs
from fixtures.small_graphs.build import f32, model, node, save, transpose

FIXTURES = Path(__file__).parents[2] / "fixtures"
UNTYPED = helper.make_empty_tensor_value_info("w")
DECODER = FIXTURES / "sd15-vae-decoder"
LINE = (
    "ddinspect: dd_ratio=95.7% fused=89 left=4 (boundary 4, shape 0, compute 0) "
    "regions=1 crossings=2 bf16_casts=2 layout=2"
)


@pytest.fixture
def component(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DECODER, tmp_path / "vae_decoder"))


@pytest.mark.parametrize("path", [DECODER, DECODER / "dd", DECODER / "dd" / "replaced.onnx"])
def test_last_line_is_the_greppable_one(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == LINE
    assert printed.err == ""


def test_quiet_is_that_line_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "-q", str(DECODER)]) == 0
    assert capsys.readouterr().out == LINE + "\n"


def test_text_is_the_shipped_file_but_for_the_order_of_op_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DECODER), "--format", "text"]) == 0
    printed = capsys.readouterr().out.splitlines()
    shipped = (DECODER / "dd" / "onnx_report.txt").read_text().splitlines()
    assert len(printed) == len(shipped)
    types = slice(shipped.index(next(line for line in shipped if line.startswith("| Offloaded Op Types"))), None)
    assert printed[: types.start] == shipped[: types.start]

    def op_types(lines: list[str]) -> list[str]:
        return sorted(line.split("|")[2].strip() for line in lines[types.start : types.start + 6])

    assert op_types(printed) == op_types(shipped)
    assert printed[types.start + 6 :] == shipped[types.start + 6 :]


def test_json_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DECODER), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "ddinspect.report/1"
    assert document["fusion"]["by_type"] == {
        "SDAdd": 15, "SDConv": 36, "SDGemm": 4, "SDGroupNorm": 30, "SDMHA_VAE": 1, "SDResize": 3,
    }  # fmt: skip
    # One BFLOAT16 tensor in, one out: 1·64·64·4·2 + 1·512·512·3·2.
    assert document["summary"]["crossing_bytes"] == 1_605_632
    assert document["summary"]["mac_coverage"] == 100.0


def test_metadata_missing_is_said_and_never_zero(component: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(component / "dd" / "cache")
    assert run(["report", str(component), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["fused_ops"] == 89
    assert document["summary"]["fused_ops_source"] == "replaced"
    assert document["summary"]["dd_ratio"] == 95.7
    assert [(f["rule"], f["severity"]) for f in document["findings"]] == [("DD002", "warning")]


def test_report_text_alone_gives_the_same_ratio_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    run(["report", str(DECODER), "--format", "text"])
    from_graph = capsys.readouterr().out
    run(["report", str(DECODER / "dd" / "onnx_report.txt"), "--format", "text"])
    assert capsys.readouterr().out == from_graph


@pytest.mark.parametrize("format_name", ["console", "text", "json", "markdown", "csv"])
def test_saved_report_renders_again_in_any_format(
    format_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.json"
    assert run(["report", str(DECODER), "--format", "json", "-o", str(saved)]) == 0
    assert capsys.readouterr().out == ""
    run(["report", str(DECODER), "--format", format_name])
    direct = capsys.readouterr().out
    assert run(["report", str(saved), "--format", format_name]) == 0
    assert capsys.readouterr().out == direct


def test_output_file_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.md"
    out.write_text("old")
    assert run(["report", str(DECODER), "--format", "markdown", "-o", str(out)]) == 0
    assert "95.7" in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert run(["report", str(DECODER), "-o", str(tmp_path)]) == 2
    assert run(["report", str(DECODER), "-o", str(tmp_path / "nowhere" / "x")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fail-under", "95.7"], 0),
        (["--fail-under", "95.71"], 1),
        (["--fail-on", "error"], 0),
        (["--fail-under", "98", "--fail-on", "warning"], 1),
    ],
)
def test_gates(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DECODER), *arguments]) == code
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == LINE
    assert ("95.7%" in printed.err) is (code == 1)


def test_nothing_to_gate_is_3_and_a_plain_report_of_it_0(capsys: pytest.CaptureFixture[str]) -> None:
    original = str(FIXTURES / "graphs" / "vae_encoder.onnx")
    assert run(["report", original]) == 0
    assert "ddinspect plan" in capsys.readouterr().out
    assert run(["report", original, "--fail-under", "1"]) == 3
    assert "nothing to gate" in capsys.readouterr().err


def test_several_paths_give_each_a_report_and_the_worst_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"")
    original = str(FIXTURES / "graphs" / "vae_encoder.onnx")
    assert run(["report", str(DECODER), str(broken), original, "--format", "json", "--fail-under", "99"]) == 2
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["schema"] == "ddinspect.reports/1"
    assert [report["summary"]["fused_ops"] for report in document["reports"]] == [89, 0]
    assert "broken.onnx: an empty file" in printed.err


def test_glob_is_expanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        shutil.copytree(DECODER, tmp_path / name)
    assert run(["report", "-q", str(tmp_path / "*" / "dd" / "replaced.onnx")]) == 0
    assert capsys.readouterr().out == f"{LINE}\n{LINE}\n"
    assert run(["report", str(tmp_path / "c*")]) == 2


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    shutil.copytree(DECODER, folder / "vae_decoder")
    (folder / "text_encoder").mkdir()
    shutil.copy(FIXTURES / "graphs" / "vae_encoder.onnx", folder / "text_encoder" / "model.onnx")
    small_graphs.write("t11_chain", folder / "unet" / "dd")
    return folder


def test_package_is_keyed_by_component(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(package), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "ddinspect.package/1"
    assert {name: report["summary"]["dd_ratio"] for name, report in document["components"].items()} == {
        "text_encoder": 0.0,
        "unet": 29.41,
        "vae_decoder": 95.7,
    }


def test_package_gates_only_components_with_a_dd_node(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(package), "--fail-under", "29"]) == 0
    assert capsys.readouterr().err == "ddinspect: text_encoder: no DynamicDispatch node, not gated\n"
    assert run(["report", str(package), "--fail-under", "95"]) == 1
    assert capsys.readouterr().err.startswith("ddinspect: unet: dd_ratio 29.41% is below --fail-under 95%")
    assert run(["report", str(package), "--fail-under", "95", "--component", "vae_decoder"]) == 0
    assert run(["report", str(package), "--fail-under", "95", "--component", "text_encoder"]) == 3


def test_package_prints_one_line_per_component(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["report", "-q", str(package)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["component=text_encoder", "component=unet", "component=vae_decoder"]


def test_unknown_component_is_a_usage_error_that_lists_them(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(package), "--component", "vae"]) == 2
    assert "text_encoder, unet, vae_decoder" in capsys.readouterr().err


def test_given_metadata_and_text_win_over_those_found(component: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = component / "dd" / "cache"
    elsewhere = component.parent / "elsewhere"
    cache.rename(elsewhere)
    (component / "dd" / "onnx_report.txt").unlink()
    contradicting = component.parent / "old.txt"
    shipped = (DECODER / "dd" / "onnx_report.txt").read_text()
    contradicting.write_text(shipped.replace("| 89 ", "| 88 ").replace("95.7% ", "95.65%"))
    arguments = ["report", str(component), "--meta", str(elsewhere), "--text", str(contradicting), "--format", "json"]
    assert run(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["fused_ops_source"] == "meta"
    assert document["source"]["text"] == str(contradicting)
    assert "DD007" in {finding["rule"] for finding in document["findings"]}
    assert run(["report", str(component), str(component), "--meta", str(elsewhere)]) == 2


def test_redact_hides_where_things_lie(component: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for format_name in ("console", "json", "markdown", "csv", "text"):
        assert run(["report", str(component), "--redact", "--format", format_name]) == 0
        assert str(component.parent) not in capsys.readouterr().out


def test_by_name_lists_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    for format_name in ("console", "text"):
        assert run(["report", str(DECODER), "--by-name", "--format", format_name, "--width", "160"]) == 0
        assert "Transpose_1" in capsys.readouterr().out


def test_todo_is_the_kernel_writers_list(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(package / "unet"), "--todo", "--format", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(",")[0] for row in rows] == ["op_type", "Add", "Softmax"]
    assert run(["report", str(package / "unet"), "--todo", "--format", "text"]) == 2


def test_a_text_that_was_asked_for_must_be_readable_one_that_was_found_need_not(
    component: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (component / "dd" / "onnx_report.txt").write_text("cut")
    assert run(["report", str(component), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["source"]["text"] is None
    assert [finding["rule"] for finding in document["findings"]] == ["DD011"]
    assert run(["report", str(component), "--text", str(component / "dd" / "onnx_report.txt")]) == 2


@pytest.mark.parametrize(
    ("option", "formats"),
    [
        (["--by-name"], {"console", "text"}),
        (["--quiet"], {"console"}),
        (["--todo"], {"console", "markdown", "csv"}),
        (["--width", "100"], {"console", "text"}),
    ],
)
def test_an_option_is_honoured_or_refused(
    option: list[str], formats: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for format_name in ("console", "text", "json", "markdown", "csv"):
        run(["report", str(DECODER), "--format", format_name])
        plain = capsys.readouterr().out
        code = run(["report", str(DECODER), "--format", format_name, *option])
        printed = capsys.readouterr()
        assert code == (0 if format_name in formats else 2)
        assert (printed.out != plain) if code == 0 else (option[0] in printed.err and printed.out == "")


@pytest.mark.parametrize("option", ["--meta", "--text"])
def test_side_files_are_for_a_model(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "saved.json"
    run(["report", str(DECODER), "--format", "json", "-o", str(saved)])
    for path in (saved, DECODER / "dd" / "onnx_report.txt"):
        assert run(["report", str(path), option, str(DECODER / "dd")]) == 2
        assert "are about a model" in capsys.readouterr().err


def test_the_last_line_of_several_reports_is_a_summary_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DECODER), str(DECODER)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == LINE


def test_a_pattern_without_a_match_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "-q", str(DECODER), "zz*", "nope.onnx"]) == 2
    printed = capsys.readouterr()
    assert printed.out == LINE + "\n"
    assert printed.err.count("\n") == 2


def test_dims_beyond_all_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No allocation follows a declared size, and a saved report can be read again."""
    huge = [2**62] * 20
    made = model(
        [transpose("x", "t", (0, 2, 3, 1)), node("Add", ["t", "t"], ["y"]), node("Add", ["v", "v"], ["w"])],
        [f32("x", *huge), f32("v", 2**62)],
        [f32("y", *huge), UNTYPED],
    )
    path = save(tmp_path, made, {})
    saved = tmp_path / "saved.json"
    for format_name in ("console", "text", "markdown", "csv"):
        assert run(["report", str(path), "--format", format_name]) == 0
    assert run(["report", str(path), "--format", "json", "-o", str(saved)]) == 0
    assert run(["report", str(saved)]) == 0
    assert "bug" not in capsys.readouterr().err


def test_component_names_are_shown_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_graphs.write("t11_chain", tmp_path / "a\x1b]0;pwn\nb" / "dd")
    for format_name in ("console", "text", "markdown", "csv", "json"):
        assert run(["report", str(tmp_path), "--format", format_name]) == 0
        assert "\x1b" not in capsys.readouterr().out
