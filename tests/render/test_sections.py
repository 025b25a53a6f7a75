from __future__ import annotations

from sample_reports import bare_text, changed, package, unet, untouched, vae

from ddinspect.analysis.border_values import BlockFloatEdge, Casts
from ddinspect.render.section import Section, View
from ddinspect.render.sections import findings_section, overview_section, report_sections
from ddinspect.report import Report
from ddinspect.rules.finding import Finding


def sections(report: Report) -> dict[str, Section]:
    return {section.key: section for section in report_sections(report, View())}


def finding(severity: str, message: str) -> Finding:
    return Finding(rule="DD999", severity=severity, message=message, fix="Mend it.")  # type: ignore[arg-type]


def test_what_costs_comes_before_what_moves_and_empty_sections_are_left_out() -> None:
    keys = list(sections(unet()))
    assert keys[:2] == ["source", "figures"]
    assert keys[-1] == "findings"
    assert keys.index("compute") < keys.index("islands") < keys.index("casts") < keys.index("crossings")
    assert "block_float" not in keys
    assert "compute" not in sections(vae())


def test_a_graph_without_dd_nodes_says_so() -> None:
    said = sections(untouched())["nothing_offloaded"]
    assert said.rows == ()
    assert "plan model.onnx" in said.meaning
    text = changed(bare_text(), summary={"dd_nodes": 0})
    assert "plan MODEL.onnx" in sections(text)["nothing_offloaded"].meaning
    assert "nothing_offloaded" not in sections(vae())


def test_one_region_needs_no_table() -> None:
    assert "regions" not in sections(vae())
    regions = sections(unet())["regions"]
    assert regions.title == "Regions: 2"
    assert [row[:3] for row in regions.rows] == [("0", "1", "600"), ("1", "1", "18")]


def test_traffic_row_by_row() -> None:
    found = sections(unet())
    assert found["casts"].rows == (
        ("FLOAT -> BFLOAT16", "[1,64,64,4]", "32.8 kB", "cpu -> npu", "CastAvx_0", "latent_bf16"),
    )
    assert found["crossings"].rows == (("CPU -> NPU", "BFLOAT16", "[1,64,64,4]", "32.8 kB", "latent_bf16"),)
    edges = tuple(
        BlockFloatEdge(tensor=f"t{certain}", shape=(8,), bytes=9, between=("npu", "npu"), certain=certain)
        for certain in (True, False)
    )
    blocks = sections(changed(vae(), casts=Casts(to_bf16=0, from_bf16=0, block_float=edges)))["block_float"]
    assert blocks.title == "Block-float tensors: 2"
    assert [column.title for column in blocks.columns] == ["Certain", "Shape", "Bytes", "Between", "Tensor"]
    assert blocks.rows[1] == ("looks like it", "[8]", "9 B", "npu -> npu", "tFalse")


def test_findings_worst_first_and_counted() -> None:
    found = (finding("info", "a"), finding("warning", "b"), finding("error", "c\n[x]"), finding("warning", "d"))
    section = findings_section(found)
    assert section.title == "Findings: 1 error, 2 warnings, 1 info"
    assert [row[2] for row in section.rows] == [r"c\n[x]", "b", "d", "a"]


def test_overview_has_a_row_per_component() -> None:
    section = overview_section(package())
    assert section.title == "Package: 3 components"
    assert section.rows == (
        ("unet", "97.63%", "618", "15", "3", "2", "6"),
        ("vae_decoder", "95.7%", "89", "4", "0", "1", "2"),
        ("text encoder", "no DD node", "0", "5", "5", "0", "0"),
    )
