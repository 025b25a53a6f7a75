from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sample_reports import bare_text, changed, package, unet, untouched, vae

from ddinspect.analysis.values import LeftRow, Source, Todo
from ddinspect.printable import printable
from ddinspect.render.markdown import escaped, render_markdown, render_todo_markdown
from ddinspect.report import Document, Reports


def shown(markdown: str) -> list[str]:
    """The text of every table cell as another program reads the Markdown (rich depends on it, so it is there)."""
    cells = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        if token.type == "inline" and token.level == 4:  # table, section, row, cell, inline
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special", "html_inline"}, kinds
            cells.append("".join(child.content for child in token.children or [] if child.type != "html_inline"))
    return cells


def test_small_report() -> None:
    text = render_markdown(vae())
    assert text.startswith(r"""## ddinspect: vae\_decoder/dd/replaced.onnx

|          |                                                                    |
|----------|--------------------------------------------------------------------|
| kind     | replaced graph (has DD nodes)                                      |
| metadata | vae\_decoder/dd/cache/NhwcConv\_0-post\_quant\_convConv\_meta.json |

### Figures

| Figure           |   Value | Source   | Meaning                                                       |
|------------------|---------|----------|---------------------------------------------------------------|
| dd\_ratio        |   95.7% | meta     | fused / (fused + left): AMD's formula                         |
| fused            |      89 | meta     | fused ops inside 1 DD node                                    |
| left             |       4 |          | nodes left on the CPU                                         |
""")
    assert (
        r"""
<details><summary>Layout conversions: 1 to NHWC, 1 to NCHW</summary>

Shape, bytes and tensor are those of the input.

| Change       | How                  | Shape            |   Bytes | Between      | Node         | Tensor   |
|--------------|----------------------|------------------|---------|--------------|--------------|----------|
| NCHW -> NHWC | Transpose (explicit) | \[batch,4,64,?\] |     n/a | input -> cpu | Transpose\_0 | latent   |

</details>
"""
        in text
    )
    assert text.endswith("""
```text
ddinspect: dd_ratio=95.7% fused=89 left=4 (boundary 4, shape 0, compute 0) regions=1 crossings=2 bf16_casts=2 layout=2
```
""")


def test_what_matters_is_in_plain_sight() -> None:
    text = render_markdown(unet())
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "## ddinspect: unet/dd/replaced.onnx",
        "### Figures",
        "### Compute left on CPU: 3 nodes, 1.68 G MACs",
        "### Islands: 1",
        "### Findings: 1 warning, 1 info",
    ]
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>") == 12
    assert text.index("### Findings") < text.index("<details>")


def test_lists_in_cells_and_folds() -> None:
    assert r"\[2,4096,320\] - FLOAT<br>\[320,320\] - FLOAT" in render_markdown(unet())


@given(st.text(st.characters(), min_size=1, max_size=30))
@example("a|b`c`<img src=x onerror=alert(1)>\n# *bold* _it_ __b__ ~~s~~ [l](http://x) ![i](y) &amp; &lt; \\| \\\\|")
@example("`code` <!-- x --> <br> </details> $x^2$ :tada: @someone #12 www.example.com https://example.com a@b.de")
def test_model_strings_show_as_text(name: str) -> None:
    table = f"| a | b |\n|---|---|\n| {escaped(printable(name))} | end |\n"
    # Blanks at the ends of a cell are not shown; blanks in a row are one.
    assert [" ".join(cell.split()) for cell in shown(table)[2:]] == [" ".join(printable(name).split()), "end"]


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("@org/team", "@<!-- -->org/team"),
        ("#123", "#<!-- -->123"),
        ("https://x", "https:<!-- -->//x"),
        ("www.x.de", "www<!-- -->.x.de"),
        (":tada:", ":<!-- -->tada:"),
        ("Conv:0", "Conv:0"),
        ("$x$", r"\$x\$"),
    ],
)
def test_github_links_nothing(text: str, markdown: str) -> None:
    assert escaped(text) == markdown


def test_hostile_names_in_every_place() -> None:
    name = "a|b\n`c`<details>*d*_e_[f](g)"
    report = changed(
        unet(),
        source=Source(path=name, kind="replaced", notes=(name,)),
        not_offloaded=(LeftRow(op_type=name, kind="shape", count=1, inputs=(name,), outputs=(name,)),),
        todo=(Todo(op_type=name, inputs=(name,), outputs=(name,), count=1, macs=None, nodes=(name,)),),
    )
    text = render_markdown(report)
    assert shown(text).count(r"a|b\n`c`<details>*d*_e_[f](g)") == 8
    assert text.count("<details>") == text.count("</details>")


def test_a_summary_line_cannot_leave_its_code_block() -> None:
    document = package()
    document.components["```\n# free"] = vae()
    assert "\n````text\nddinspect: component=unet " in render_markdown(document)


def test_package_and_several_reports() -> None:
    text = render_markdown(package())
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## ddinspect: package", r"## unet", r"## vae\_decoder", "## text encoder",
    ]  # fmt: skip
    assert text.count("ddinspect: component=") == 3
    assert render_markdown(Reports(reports=(vae(), untouched()))) == render_markdown(vae()) + "\n" + render_markdown(
        untouched()
    )


def test_long_lists_are_cut() -> None:
    names = tuple(f"/n/{i}" for i in range(30))
    todo = tuple(Todo(op_type="Add", inputs=(), outputs=(), count=1, macs=0, nodes=(name,)) for name in names)
    assert "\n\n... and 10 more\n" in render_markdown(changed(unet(), todo=todo))
    assert "/n/29 " in render_markdown(changed(unet(), todo=todo), limit=None)


@pytest.mark.parametrize("document", [vae(), unet(), untouched(), bare_text(), package()])
def test_every_table_is_read_as_one(document: Document) -> None:
    text = render_markdown(document)
    tables = sum(line.startswith("|--") for line in text.splitlines())
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert sum(token.type == "table_open" for token in tokens) == tables > 2


def test_todo_list() -> None:
    text = render_todo_markdown(unet())
    assert text.startswith("### To do: 2 kernels for 3 nodes\n")
    assert "|       1 | Sin       |      0 | \\[batch,160\\] - FLOAT " in text
    assert r"## vae\_decoder" in render_todo_markdown(package())
