from __future__ import annotations

from typing import Any

import pytest
from sample_reports import bare_text, changed, package, unet, vae

from ddinspect.analysis.values import Source
from ddinspect.render.json import render_json
from ddinspect.render.redact import redact
from ddinspect.report import Document, PackageReport, Report, Reports
from ddinspect.rules.finding import Finding


def located(path: str, **source: Any) -> Report:
    return changed(vae(), source=Source(path=path, kind="replaced", **source))


def redacted(report: Report) -> Report:
    result = redact(report)
    assert isinstance(result, Report)
    return result


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/ann/models/sd/unet/dd/replaced.onnx", "<dir1>/unet/dd/replaced.onnx"),
        ("/home/ann/replaced.onnx", "<dir1>/replaced.onnx"),
        ("/Users/ann/sd/replaced.onnx", "<dir1>/sd/replaced.onnx"),
        ("C:\\Users\\Ann Lee\\sd\\unet\\dd\\replaced.onnx", "<dir1>\\unet\\dd\\replaced.onnx"),
        ("c:/users/ann/replaced.onnx", "<dir1>/replaced.onnx"),
        ("/mnt/c/Users/ann/x.onnx", "<dir1>/x.onnx"),
        ("D:\\work\\unet\\dd\\replaced.onnx", "<dir1>\\unet\\dd\\replaced.onnx"),
        ("\\\\server\\ann\\x.onnx", "<dir1>\\x.onnx"),
        ("../ann/sd/unet/dd/replaced.onnx", "<dir1>/unet/dd/replaced.onnx"),
        ("/srv/sd/unet/dd/cache/a_meta.json", "<dir1>/unet/dd/cache/a_meta.json"),
        ("unet/dd/replaced.onnx", "unet/dd/replaced.onnx"),
        ("replaced.onnx", "replaced.onnx"),
        ("/home/ann", "<dir1>"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert redacted(located(path)).source.path == expected


def test_the_same_folder_has_the_same_placeholder() -> None:
    report = located(
        "/home/ann/sd/unet/dd/replaced.onnx",
        meta=("/home/ann/sd/unet/dd/cache/a_meta.json", "/data/ann/x/y/z/b_meta.json"),
        original="/home/ann/sd/unet/model.onnx",
    )
    source = redacted(report).source
    assert source.meta == ("<dir1>/unet/dd/cache/a_meta.json", "<dir2>/y/z/b_meta.json")
    assert source.original == "<dir1>/unet/model.onnx"


def finding(message: str, node: str | None = None) -> tuple[Finding, ...]:
    return (Finding(rule="DD104", severity="info", message=message, node=node, fix=message),)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("'/home/ann/sd/unet/a.bin' is absent", "'<dir1>/unet/a.bin' is absent"),
        ("folder /home/ann/sd is empty", "folder <dir1> is empty"),
        ("made by /home/bob/tools/export.py", "made by <dir1>/tools/export.py"),
        ("see file:///home/ann/notes.txt", "see file:///home/<user>/notes.txt"),
        (r"loads C:\Users\bob\x.xclbin.", r"loads <dir1>\x.xclbin."),
        ("reads /tmp/job17/a/b/c/w.data", "reads <dir1>/b/c/w.data"),
        ("node /down_blocks.0/attentions.0/to_q/MatMul", "node /down_blocks.0/attentions.0/to_q/MatMul"),
        ("/home/annabel is someone else", "<dir1> is someone else"),
    ],
)
def test_sentences(message: str, expected: str) -> None:
    report = changed(located("/home/ann/sd/unet/dd/replaced.onnx"), findings=finding(message))
    result = redacted(report)
    assert result.findings[0].fix == result.findings[0].message
    # A folder that is not the model's has a number of its own; which one, other tests say.
    assert result.findings[0].message.replace("<dir2>", "<dir1>") == expected


def test_names_of_nodes_stay_but_for_home_paths() -> None:
    report = changed(
        located("models/big/unet/dd/replaced.onnx"),
        findings=finding("models/big/x and models/biggest/x", "models/big/block/MatMul"),
    )
    result = redacted(report).findings[0]
    assert result.node == "models/big/block/MatMul"
    assert result.message == "<dir1>/x and models/biggest/x"
    report = changed(vae(), findings=finding("m", "/home/ann/model/MatMul"))
    assert redacted(report).findings[0].node == "/home/<user>/model/MatMul"


def test_two_users_stay_apart() -> None:
    report = changed(vae(), findings=finding("m", "/home/ann/x /home/bob/x /home/ann/y"))
    assert redacted(report).findings[0].node == "/home/<user>/x /home/<user2>/x /home/<user>/y"


def test_nothing_personal_is_left_anywhere() -> None:
    personal = "/home/ann/personal/sd/unet/dd/x.bin"
    document = PackageReport(
        components={
            "unet": changed(
                located(personal, meta=(personal,), original=personal, text=personal, notes=(f"not {personal}",)),
                findings=finding(f"at {personal}", personal),
                fusion=unet().fusion,
            )
        }
    )
    text = render_json(redact(Reports(reports=(document,))))
    assert "ann/" not in text
    assert text.count("personal") == 1  # in the name of the node


@pytest.mark.parametrize("document", [vae(), unet(), bare_text(), package()])
def test_nothing_else_changes(document: Document) -> None:
    assert redact(document) == document


def test_redacting_again_changes_nothing() -> None:
    report = changed(
        located("/home/ann/a/b/c/d.onnx", meta=("/home/bob/a/b/c/e.json",), notes=("/home/ann/a/b is /tmp/q/w/e/r/t",)),
        findings=finding("see /home/eve/x", "/home/ann/n"),
    )
    once = redact(report)
    assert once != report
    assert redact(once) == once
