from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_reports import bare_text, changed, package, unet, untouched, vae

from ddinspect.errors import UnreadableInputError
from ddinspect.render.json import parse_document, render_json
from ddinspect.report import Document, PackageReport, Reports
from ddinspect.rules.finding import Finding

DOCUMENTS: list[Document] = [vae(), unet(), untouched(), bare_text(), package(), Reports(reports=(vae(), package()))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_round_trip(document: Document) -> None:
    text = render_json(document)
    assert parse_document(text.encode("ascii"), "saved.json") == document
    assert text.endswith("}\n")
    assert text.startswith('{\n  "schema": ')


# Any string Python can hold, lone surrogates from undecodable file names included.
anything = st.text(st.characters(), max_size=20)


@given(anything, anything, st.integers(0, 2**70), st.none() | st.floats(0, 100))
def test_round_trip_of_any_string_and_number(name: str, message: str, macs: int, ratio: float | None) -> None:
    report = changed(
        vae(),
        summary={"compute_left_macs": macs, "dd_ratio": ratio},
        findings=(Finding(rule="DD101", severity="error", message=message, node=name, fix=message),),
    )
    package = PackageReport(components={name: report})
    assert parse_document(render_json(package).encode("ascii"), "saved.json") == package


def test_keys_of_the_contract() -> None:
    """Names and order of the keys that the first release fixed."""
    raw = json.loads(render_json(vae()))
    assert list(raw) == [
        "schema", "tool", "source", "summary", "offloaded", "not_offloaded", "fusion", "casts", "layout", "boundaries",
        "todo", "figures", "nodes", "findings",
    ]  # fmt: skip
    assert raw["schema"] == "ddinspect.report/1"
    assert list(raw["summary"])[:10] == [
        "dd_nodes", "fused_ops", "fused_ops_source", "not_offloaded", "dd_ratio", "not_offloaded_by_kind",
        "dd_ratio_top_level", "source_coverage", "mac_coverage", "weight_coverage",
    ]  # fmt: skip
    assert raw["fusion"]["dd_nodes"][0]["memory"] == {
        "in": 32768, "out": 1572864, "scratch": 536870912, "const": 1000,
    }  # fmt: skip
    assert raw["layout"]["items"][0]["shape"] == ["batch", 4, 64, None]
    assert json.loads(render_json(package()))["schema"] == "ddinspect.package/1"
    assert json.loads(render_json(Reports(reports=())))["schema"] == "ddinspect.reports/1"


def test_other_encodings_and_unknown_keys() -> None:
    raw = json.loads(render_json(vae()))
    raw["later"] = {"new": 1}
    raw["summary"]["later"] = 2
    for encoding in ("utf-8-sig", "utf-16"):  # what Windows PowerShell's `>` writes
        assert parse_document(json.dumps(raw).encode(encoding), "saved.json") == vae()


def _without(key: str) -> bytes:
    raw = msgspec.to_builtins(vae())
    del raw[key]
    return json.dumps(raw).encode()


def _with(**changes: Any) -> bytes:
    return json.dumps(msgspec.to_builtins(vae()) | changes).encode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "not JSON"),
        (b"\x08\x07ONNX", "not JSON"),
        (b"\xff\xfe\xfd", "not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[]", "has no `schema`"),
        (b'{"schema": 1}', "has no `schema`"),
        (b'{"schema": "ddinspect.check/1"}', "'ddinspect.check/1' is not a report"),
        (b'{"schema": "ddinspect.report/2"}', "newer than this ddinspect can read; update"),
        (_without("summary"), "missing required field `summary`"),
        (_with(summary={}), r"\$\.summary"),
        (_with(source={"path": "m.onnx", "kind": "\ud83d"}), "not a valid ddinspect.report/1 document"),
        (
            _with(findings=[{"rule": "x", "severity": "fatal", "message": "", "fix": ""}]),
            r"\$\.findings\[0\]\.severity",
        ),
        (_with(summary=float("nan")), "NaN is no JSON number"),
        (b'{"schema": "ddinspect.report/1", "n": 1e999}', "too large"),
        (b'{"schema": "ddinspect.report/1", "n": 1' + b"0" * 60 + b"}", "61 digits"),
    ],
)
def test_unreadable(text: bytes, problem: str) -> None:
    with pytest.raises(UnreadableInputError, match=problem) as caught:
        parse_document(text, "saved.json")
    assert str(caught.value).startswith("saved.json: ")
    assert caught.value.advice
    assert len(str(caught.value).splitlines()) == 1
