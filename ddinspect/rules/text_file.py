"""Rules about the onnx_report.txt that AMD's tool printed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ddinspect.analysis.cost import total
from ddinspect.analysis.figures import percent
from ddinspect.analysis.signature import signatures
from ddinspect.analysis.values import DDNode
from ddinspect.artifacts.report_text import ReportText, TextRow, contradictions
from ddinspect.artifacts.report_text.values import (
    CUT,
    FUSED_SUM,
    HALF_A_DIGIT,
    NOT_OFFLOADED_SUM,
    OFFLOADED_SUM,
    OP_TYPES,
    RATIO,
)
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.dtypes import UNDEFINED
from ddinspect.onnxfile.model import Node
from ddinspect.printable import printable
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.wording import listed, quoted


class _Row(NamedTuple):
    """A table row, of the text or of the graph.

    Attributes:
        whole: Nothing of its signature is cut off or unknown.
    """

    op_type: str
    nodes: int
    signature: str
    whole: bool


def _text_contradicts_graph(context: Context) -> Iterator[Hit]:
    text = context.text
    if text is None:
        return
    file = quoted(Path(context.analysis.source.text or "onnx_report.txt").name)
    for difference in (
        *_figures(context, text),
        *_op_types(context, text),
        *_rows(context, "not offloaded", text.not_offloaded),
        *_rows(context, "offloaded", text.offloaded),
    ):
        yield Hit(f"{file} and the graph disagree: {difference}")


def _figures(context: Context, text: ReportText) -> Iterator[str]:
    """Differences between the sums of the text and those of the main graph, which is all that AMD counts."""
    dd_nodes = _dd_nodes(context)
    left = len(_nodes(context, "not offloaded", text.not_offloaded))
    fused = total([dd.fused_ops for dd in dd_nodes])
    sums = (
        (NOT_OFFLOADED_SUM, text.not_offloaded_sum, left),
        (OFFLOADED_SUM, text.offloaded_sum, len(dd_nodes)),
        (FUSED_SUM, text.fused_ops, fused),
    )
    for label, stated, found in sums:
        if stated is not None and found is not None and stated != found:
            yield f"`{label}` is {stated} in the text and {found} in the graph"
    if text.ratio is None or fused is None or fused + left == 0:
        return
    ratio = percent(fused, left)
    if abs(text.ratio - ratio) > HALF_A_DIGIT:
        yield f"`{RATIO}` is {text.ratio}% in the text and {ratio}% in the graph"


def _dd_nodes(context: Context) -> list[DDNode]:
    """DD nodes of the main graph."""
    fusion, main = context.analysis.fusion, context.split.expansion.scopes[0]
    return [dd for dd in fusion.dd_nodes if dd.scope == main.path] if fusion else []


def _nodes(context: Context, table: str, rows: tuple[TextRow, ...]) -> list[Node]:
    """The nodes of the main graph that a table of the text is about.

    A call of a local function is a node for AMD. This package prints none of them: a text without a row of their types
    is taken for one of its own.
    """
    expansion = context.split.expansion
    nodes = [node for node in expansion.scopes[0].nodes if is_dispatch(node) == (table == "offloaded")]
    calls = {_one_line(node.op_type) for node in nodes if expansion.is_call(node)}
    printed = {_one_line(row.op_type) for row in rows}
    cut = {op_type for op_type in printed if CUT in op_type}
    if calls & printed or _covered(cut, calls):
        return nodes
    return [node for node in nodes if not expansion.is_call(node)]


def _op_types(context: Context, text: ReportText) -> Iterator[str]:
    dd_nodes = _dd_nodes(context)
    if text.op_types is None or any(dd.meta is None for dd in dd_nodes):
        return
    in_graph = {_one_line(op_type) for dd in dd_nodes for op_type in dd.by_type}
    in_text = set(map(_one_line, text.op_types))
    cut = {op_type for op_type in in_text if CUT in op_type}
    for only, where, other in (
        (in_text - in_graph - cut, "the text", "the metadata"),
        (in_graph - in_text - _covered(cut, in_graph), "the metadata", "the text"),
    ):
        if only:
            yield f"`{OP_TYPES}`: {listed(map(quoted, sorted(only)))} in {where} and not in {other}"


def _rows(context: Context, table: str, rows: tuple[TextRow, ...]) -> Iterator[str]:
    """Differences between one table and the nodes of the main graph, by op type.

    Names are not compared: AMD's printer loses parts of them without a trace.
    """
    nodes = _nodes(context, table, rows)
    in_text, in_graph = _by_type(map(_text_row, rows)), _by_type(_graph_row(context, node) for node in nodes)
    cut = {op_type for op_type in in_text if CUT in op_type}
    types = in_text.keys() | in_graph.keys()
    for op_type in sorted(types - cut - _covered(cut, types)):
        stated, found = in_text[op_type], in_graph[op_type]
        numbers = [sum(row.nodes for row in each) for each in (stated, found)]
        if numbers[0] != numbers[1]:
            yield f"{numbers[0]} {quoted(op_type)} {table} in the text and {numbers[1]} in the graph"
        elif all(row.whole for row in (*stated, *found)):
            only_text, only_graph = _only(stated, found), _only(found, stated)
            if only_text:
                yield f"{quoted(op_type)} is {only_text[0]} in the text and {only_graph[0]} in the graph"


def _covered(cut: Iterable[str], op_types: Iterable[str]) -> set[str]:
    """Op types that a cut one may stand for."""
    beginnings = tuple(op_type.split(CUT)[0] for op_type in cut)
    return {op_type for op_type in op_types if op_type.startswith(beginnings)}


def _by_type(rows: Iterable[_Row]) -> defaultdict[str, list[_Row]]:
    found: defaultdict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        found[row.op_type].append(row)
    return found


def _only(rows: list[_Row], others: list[_Row]) -> list[str]:
    """Signatures that the first rows have more often than the second ones."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.signature] += row.nodes
    for row in others:
        counts[row.signature] -= row.nodes
    return [quoted(signature) for signature, count in counts.items() if count > 0]


def _text_row(row: TextRow) -> _Row:
    signature = _signature(row.inputs, row.outputs)
    return _Row(_one_line(row.op_type), row.count, signature, CUT not in signature)


def _graph_row(context: Context, node: Node) -> _Row:
    split = context.split
    main = split.expansion.scopes[0]
    infos = [split.expansion.type_of(main, name) for name in (*node.inputs, *node.outputs) if name]
    whole = all(info.dtype != UNDEFINED and info.shape is not None and None not in info.shape for info in infos)
    sides = (signatures(split, main, node.inputs), signatures(split, main, node.outputs))
    return _Row(_one_line(node.op_type), 1, _signature(*sides), whole)


def _signature(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    # No commas between tensors: where a dim has blanks and brackets in its name, the text does not say where one ends.
    return _one_line(f"{' '.join(inputs)} -> {' '.join(outputs)}")


def _one_line(text: str) -> str:
    """As it comes back from a printed table: control characters escaped, a run of blanks as one."""
    return " ".join(printable(text).split())


def _text_contradicts_itself(text: ReportText) -> Iterator[Hit]:
    for sentence in contradictions(text):
        yield Hit(f"the report text disagrees with itself: {sentence}")


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD007",
        name="text-contradicts-graph",
        severity="warning",
        summary="The onnx_report.txt beside the model describes another graph.",
        why="The text was printed before the model was partitioned again, or for another model. Whoever reads it gets "
        "wrong figures. It is judged by what AMD counts: the main graph only.",
        fix="Print the report again (`ddinspect report MODEL --format text -o onnx_report.txt`) or delete the old one.",
        check=_text_contradicts_graph,
    ),
    Rule(
        id="DD008",
        name="text-contradicts-itself",
        severity="warning",
        summary="Two figures of a report text cannot both be right.",
        why="The ratio follows from the sums, and the sums from the rows. A text in which they do not agree was "
        "edited, put together from two reports, or damaged.",
        fix="Print the report again from the graph and its metadata.",
        check_text=_text_contradicts_itself,
    ),
)
