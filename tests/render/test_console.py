from __future__ import annotations

import re

import msgspec
import pytest
from rich.cells import cell_len
from sample_reports import ATTENTION, bare_text, changed, left_node, package, unet, untouched, vae

from ddinspect.analysis.values import LeftRow, Source, Todo
from ddinspect.render.console import render_console, render_todo_console
from ddinspect.render.summary_line import summary_line
from ddinspect.report import Document, Reports
from ddinspect.rules.finding import Finding

# Escape sequences, overrides of the reading direction, markup, quotes, and a line that looks like the summary line.
HOSTILE = "a[bold]b[/bold]\x1b[31m\nddinspect: dd_ratio=100.0%\u202e[batch,77]\r漢é\"'`|<b>" + "x" * 100


def plain(document: Document, width: int | None = 80, limit: int | None = 20, by_name: bool = False) -> str:
    return render_console(document, width=width, color=False, unicode=False, limit=limit, by_name=by_name)


VAE_AT_80 = """\
vae_decoder/dd/replaced.onnx
  kind      replaced graph (has DD nodes)
  metadata  vae_decoder/dd/cache/NhwcConv_0-post_quant_convConv_meta.json

Figures
  Figure            Value  Source  Meaning
  ---------------  ------  ------  ---------------------------------------------
  dd_ratio          95.7%  meta    fused / (fused + left): AMD's formula
  fused                89  meta    fused ops inside 1 DD node
  left                  4          nodes left on the CPU
    boundary            4          casts and layout changes at the NPU's border
    shape               0          depend on no input value, so cost little
    compute             0          real work on the CPU: fix these first
    compute MACs        0          multiply-accumulates of these
  mac_coverage     100.0%          multiply-accumulates done on the NPU
  source_coverage     n/a          nodes of the original offloaded; not known:
                                   no original graph
  weight_coverage     n/a          parameter bytes offloaded; not known: no
                                   original graph
  regions               1          groups of DD nodes; fewer is better
  crossings             2          tensors that enter or leave the NPU
  crossing_bytes   1.6 MB          bytes they move per inference
  bf16_casts            2          casts: 1 to, 1 from BFLOAT16
  layout                2          NCHW/NHWC changes: 1 to NHWC, 1 to NCHW

Boundary nodes left on CPU: 4 nodes
  BF16 casts and layout changes.
  Count  Op type    Inputs                    Outputs
  -----  ---------  ------------------------  ----------------------
      1  CastAvx    [1,64,64,4] - FLOAT       [1,64,64,4] - BFLOAT16
      1  CastAvx    [1,512,512,3] - BFLOAT16  [1,512,512,3] - FLOAT
      1  Transpose  [1,4,64,64] - FLOAT       [1,64,64,4] - FLOAT
      1  Transpose  [1,512,512,3] - FLOAT     [1,3,512,512] - FLOAT

BF16 casts: 1 to, 1 from BFLOAT16
  Shape, bytes and tensor are those of the BFLOAT16 side.
  Types              Shape          Bytes  Between     Node       Tensor
  -----------------  -----------  -------  ----------  ---------  -----------
  FLOAT -> BFLOAT16  [1,64,64,4]  32.8 kB  cpu -> npu  CastAvx_0  latent_bf16

Layout conversions: 1 to NHWC, 1 to NCHW
  Shape, bytes and tensor are those of the input.
  Change        How                   Shape           Bytes  Between
  ------------  --------------------  --------------  -----  ------------
  NCHW -> NHWC  Transpose (explicit)  [batch,4,64,?]    n/a  input -> cpu
    node    Transpose_0
    tensor  latent

Crossings: 2, 1.6 MB
  Tensors that enter or leave the NPU.
  Direction   Type      Shape          Bytes  Tensor
  ----------  --------  -----------  -------  -----------
  CPU -> NPU  BFLOAT16  [1,64,64,4]  32.8 kB  latent_bf16

Offloaded: 1 DD node
  By type and signature.
  Count  Op type          Inputs                  Outputs
  -----  ---------------  ----------------------  ------------------------
      1  DynamicDispatch  [1,64,64,4] - BFLOAT16  [1,512,512,3] - BFLOAT16

Fused ops by type: 89
  Fused op     Count   Share
  -----------  -----  ------
  SDConv          36  40.45%
  SDGroupNorm     30  33.71%
  SDAdd           15  16.85%
  SDGemm           4   4.49%
  SDResize         3   3.37%
  SDMHA_VAE        1   1.12%

DD nodes: 1
  In, out, scratch and const are bytes of device memory that the metadata
  claims.
  Fused    MACs       In     Out   Scratch   Const  Model type
  -----  ------  -------  ------  --------  ------  ----------------
     89  1.26 T  32.8 kB  1.6 MB  536.9 MB  1.0 kB  SD15_VAE_DECODER
    dd node    NhwcConv_0-post_quant_convConv
    fused ops  SDConv 36, SDGroupNorm 30

ddinspect: dd_ratio=95.7% fused=89 left=4 (boundary 4, shape 0, compute 0) regions=1 crossings=2 bf16_casts=2 layout=2
"""


def test_small_report_at_80_columns() -> None:
    assert plain(vae()) == VAE_AT_80


def headings(text: str) -> list[str]:
    return [line.split(":")[0] for line in text.splitlines() if line and line[0] not in " ="]


def test_what_costs_the_user_comes_first() -> None:
    assert headings(plain(unet())) == [
        "unet/dd/replaced.onnx", "Figures", "Compute left on CPU", "Boundary nodes left on CPU",
        "Shape nodes left on CPU", "Islands", "BF16 casts", "Casts that undo each other", "Layout conversions",
        "Blocked layout pairs", "Regions", "Crossings", "Offloaded", "Fused ops by type", "DD nodes",
        "Names in `replaced` that do not add up", "Findings", "ddinspect",
    ]  # fmt: skip


def test_compute_left_at_80_columns() -> None:
    assert f"""\
Compute left on CPU: 3 nodes, 1.68 G MACs
  These cost time on the CPU. The biggest come first; a kernel for them would
  move them to the NPU.
  Count  Op type    MACs  Between
  -----  -------  ------  -------------------
      2  MatMul   1.68 G  constant,npu -> npu
    inputs   [2,4096,320] - FLOAT
             [320,320] - FLOAT
    outputs  [2,4096,320] - FLOAT
    nodes    {ATTENTION}/to_q/MatMul
             {ATTENTION}/to_k/MatMul
      1  Sin           0  cpu -> cpu
    inputs   [batch,160] - FLOAT
    outputs  [batch,160] - FLOAT
    nodes    /Sin

""" in plain(unet())


def test_by_name_has_one_row_per_node() -> None:
    text = plain(unet(), width=None, by_name=True)
    row = "      1  MatMul   839 M  [2,4096,320] - FLOAT  [2,4096,320] - FLOAT  constant,npu -> npu  "
    assert [line for line in text.splitlines() if line.startswith(row)] == [
        f"{row}{ATTENTION}/to_q/MatMul",
        f"{row}{ATTENTION}/to_k/MatMul",
    ]
    assert all(f"/Concat_{i}" in text for i in range(8))


def test_findings_are_worst_first() -> None:
    findings = tuple(
        Finding(rule=f"DD{i}", severity=severity, message="m", fix="f")
        for i, severity in enumerate(("info", "warning", "error", "warning"))
    )
    text = plain(changed(vae(), findings=findings), width=120)
    assert "Findings: 1 error, 2 warnings, 1 info\n" in text
    rows = text.split("Findings: ")[1].splitlines()[3:7]
    assert [row.split()[:2] for row in rows] == [
        ["error", "DD2"], ["warning", "DD1"], ["warning", "DD3"], ["info", "DD0"],
    ]  # fmt: skip


@pytest.mark.parametrize("document", [vae(), unet(), untouched(), bare_text(), package()])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_nothing_is_wider_than_the_terminal_but_the_summary_line(document: Document, width: int) -> None:
    lines = render_console(document, width=width, color=False, unicode=True).splitlines()
    assert max(cell_len(line) for line in lines if not line.startswith("ddinspect: ")) <= width
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_pipe_is_not_folded() -> None:
    message = "word " * 100 + "end"
    report = changed(unet(), findings=(Finding(rule="DD104", severity="error", message=message, fix="f"),))
    assert f"  error     DD104  {message}  f\n" in plain(report, width=None)


def test_long_lists_are_cut_and_say_so() -> None:
    names = tuple(f"/n/{i}" for i in range(57))
    todo = tuple(Todo(op_type="Add", inputs=(), outputs=(), count=1, macs=0, nodes=(name,)) for name in names)
    report = changed(unet(), todo=(Todo(op_type="Mul", inputs=(), outputs=(), count=57, macs=0, nodes=names), *todo))
    text = plain(report, limit=20)
    assert "  ... and 38 more (use --all / --format json)\n" in text
    assert "/n/2\n" in text
    assert "... and 54 more\n" in text
    assert "/n/40\n" not in text
    everything = plain(report, limit=None)
    assert "more (use" not in everything
    assert everything.count("/n/40\n") == 2


def test_without_a_dd_node_it_says_so() -> None:
    text = plain(untouched())
    assert (
        """\
Nothing is offloaded
  This graph has no DD node (op type DynamicDispatch...): all of it runs on the
  CPU. Run `ddinspect plan model.onnx` to see what could be offloaded.

Op types: 3
  Count  Op type
  -----  -------
      2  Conv
      2  Relu
      1  Add

ddinspect: dd_ratio=0.0% """
        in text
    )
    assert "Compute left" not in text


def test_text_report_has_no_kinds() -> None:
    text = plain(bare_text())
    assert "    by kind          n/a  boundary, shape or compute\n" in text
    assert "  regions            n/a  groups of DD nodes; fewer is better; not known: a text\n" in text
    assert "Left on CPU: 4 nodes\n" in text


def test_package() -> None:
    lines = plain(package()).splitlines()
    assert lines[:7] == [
        "Package: 3 components",
        "  Component       dd_ratio  Fused  Left  Compute  Regions  Crossings",
        "  ------------  ----------  -----  ----  -------  -------  ---------",
        "  unet              97.63%    618    15        3        2          6",
        "  vae_decoder        95.7%     89     4        0        1          2",
        "  text encoder  no DD node      0     5        5        0          0",
        "",
    ]
    assert lines[-3:] == [summary_line(report, name) for name, report in package().components.items()]
    assert [line for line in lines if line.startswith("====")] == [
        "==== unet ====", "==== vae_decoder ====", "==== text encoder ====",
    ]  # fmt: skip


def test_several_reports_are_printed_one_after_the_other() -> None:
    text = plain(Reports(reports=(vae(), untouched())))
    assert text == plain(vae()) + "\n" + plain(untouched())


def test_colour_off_writes_no_escape_and_on_changes_no_word() -> None:
    assert "\x1b" not in plain(unet())
    coloured = render_console(unet(), width=80, color=True, unicode=False)
    assert "\x1b[33mwarning\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain(unet())


def test_no_unicode_means_ascii() -> None:
    assert plain(package()).isascii()
    assert "───" in render_console(package(), width=80, color=False, unicode=True)


@pytest.mark.parametrize("variable", ["COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TERM"])
def test_environment_changes_nothing(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain(unet()), render_console(unet(), width=80, color=True, unicode=True)
    monkeypatch.setenv(variable, "1")
    assert before == (plain(unet()), render_console(unet(), width=80, color=True, unicode=True))


def hostile() -> Document:
    report = changed(
        unet(),
        source=Source(path=HOSTILE, kind="replaced", notes=(HOSTILE,)),
        not_offloaded=(LeftRow(op_type=HOSTILE, kind="shape", count=1, inputs=(HOSTILE,), outputs=(HOSTILE,)),),
        todo=(Todo(op_type=HOSTILE, inputs=(HOSTILE,), outputs=(), count=1, macs=None, nodes=(HOSTILE,)),),
        nodes=(left_node(HOSTILE, HOSTILE, "compute", None, HOSTILE),),
        findings=(Finding(rule="DD104", severity="info", message=HOSTILE, node=HOSTILE, fix=HOSTILE),),
        casts=msgspec.convert(_replaced(msgspec.to_builtins(unet().casts)), type(unet().casts)),
        layout=msgspec.convert(_replaced(msgspec.to_builtins(unet().layout)), type(unet().layout)),
        boundaries=msgspec.convert(_replaced(msgspec.to_builtins(unet().boundaries)), type(unet().boundaries)),
        fusion=msgspec.convert(_replaced(msgspec.to_builtins(unet().fusion)), type(unet().fusion)),
    )
    return msgspec.structs.replace(package(), components={HOSTILE: report})


def _replaced(value: object, key: str = "") -> object:
    """The value with every name in it made hostile; words of a fixed set stay."""
    if isinstance(value, dict):
        return {name: _replaced(inner, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(inner, key) for inner in value]
    return HOSTILE if isinstance(value, str) and key not in ("direction", "how", "between", "source") else value


@pytest.mark.parametrize("width", [None, 60, 200])
@pytest.mark.parametrize("by_name", [True, False])
def test_hostile_names_are_shown_as_text(width: int | None, by_name: bool) -> None:
    text = plain(hostile(), width=width, by_name=by_name)
    assert not any(ord(letter) < 32 and letter != "\n" for letter in text)
    assert "\u202e" not in text
    assert len([line for line in text.splitlines() if line.startswith("ddinspect:")]) == 1
    shown = r"""a[bold]b[/bold]\x1b[31m\nddinspect: dd_ratio=100.0%\u202e[batch,77]\r漢é"'`|<b>""" + "x" * 100
    if width is None:
        assert f"\n    nodes  {shown}" in text or f"  {shown}\n" in text
    else:
        assert "a[bold]b[/bold]" in text


def test_todo_list() -> None:
    text = render_todo_console(unet(), width=120, color=False, unicode=False)
    assert (
        text
        == f"""\
To do: 2 kernels for 3 nodes
  Compute left on the CPU, one row per op type and signature.
  Count  Op type    MACs  Inputs                Outputs
  -----  -------  ------  --------------------  --------------------
      2  MatMul   1.68 G  [2,4096,320] - FLOAT  [2,4096,320] - FLOAT
                          [320,320] - FLOAT
    nodes  {ATTENTION}/to_q/MatMul
           {ATTENTION}/to_k/MatMul
      1  Sin           0  [batch,160] - FLOAT   [batch,160] - FLOAT
    nodes  /Sin

"""
    )
    assert "==== vae_decoder ====\n" in render_todo_console(package(), width=120, color=False, unicode=False)


def test_the_same_report_prints_the_same() -> None:
    assert plain(unet()) == plain(msgspec.json.decode(msgspec.json.encode(unet()), type=type(unet())))
