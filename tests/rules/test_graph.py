from __future__ import annotations

from functools import partial
from pathlib import Path

from faulty_graphs import (
    LOCAL,
    circle_of_functions,
    constant_of_type,
    function_imports,
    local_function,
    misdeclared,
    op_of_domain,
    placeholder_in_function,
)
from messages import findings_of, message_of, messages_of

from fixtures.small_graphs.base import NCHW, small
from fixtures.small_graphs.build import DOMAIN, OPSETS, f32, node, save


def four_placeholders(folder: Path) -> Path:
    """Three SDSilu and an SDGemm of other domains behind the DD node."""
    names = ["y", "s0", "s1", "s2", "z"]
    types = [("SDSilu", DOMAIN), ("SDSilu", "com.amd"), ("SDSilu", DOMAIN), ("SDGemm", DOMAIN)]
    nodes = [
        node(op_type, [names[i]], [names[i + 1]], names[i + 1], domain) for i, (op_type, domain) in enumerate(types)
    ]
    made = small(nodes=nodes, outputs=[f32("z", *NCHW)], opsets={**OPSETS, "com.amd": 1})
    return save(folder, made)


def test_placeholders_are_counted_by_type(tmp_path: Path) -> None:
    findings = findings_of("DD201", four_placeholders, tmp_path / "four")
    assert [finding.message for finding in findings] == [
        "3 nodes of type `SDSilu` outside any DD node: `s0`, `s1`, `s2`",
        "1 node of type `SDGemm` outside any DD node: `z`",
    ]
    assert [finding.node for finding in findings] == ["s0", "z"]
    inside = partial(placeholder_in_function, op_type="SDGemm")
    assert findings_of("DD201", inside, tmp_path / "function")[0].node == "local::Block/inner"


def test_ops_that_need_a_library_are_counted_by_type_and_domain(tmp_path: Path) -> None:
    assert message_of("DD202", partial(op_of_domain, domain="com.amd"), tmp_path) == (
        "1 node of type `Thing` in domain `com.amd`, which ONNX Runtime does not have: `thing`"
    )


def test_casts_and_dd_nodes_of_any_domain_are_expected(tmp_path: Path) -> None:
    assert messages_of("DD202", "dd_in_other_domain", tmp_path / "a") == []
    assert messages_of("DD202", "dd_conv_padded", tmp_path / "b") == []


def test_a_missing_import_names_the_domain_and_who_uses_it(tmp_path: Path) -> None:
    assert message_of("DD203", "t4_no_opset_import", tmp_path / "model") == (
        "the model has no opset import for domain `com.ryzenai`, used by 3 nodes: `z_nhwc_z_b`, `dd`, "
        "`image_b_image_nhwc`"
    )
    own = partial(function_imports, imports={"": 17})
    message = message_of("DD203", own, tmp_path / "function")
    assert message.startswith("function `Block` has no opset import for domain `com.ryzenai`, used by 3 nodes")


def test_ai_onnx_is_the_default_domain(tmp_path: Path) -> None:
    def spelled_out(folder: Path) -> Path:
        return save(folder, small(nodes=[node("Relu", ["y"], ["z"], "relu", "ai.onnx")], outputs=[f32("z", *NCHW)]))

    assert messages_of("DD203", spelled_out, tmp_path / "a") == []
    assert messages_of("DD202", spelled_out, tmp_path / "b") == []


def test_a_type_that_onnx_does_not_have_is_given_by_number(tmp_path: Path) -> None:
    assert message_of("DD204", "t6_unknown_dtype", tmp_path / "a") == (
        "2 tensors of element type DTYPE(99), which ONNX does not have: `q`, `r`"
    )
    assert message_of("DD204", "t6_undefined_dtype", tmp_path / "b") == (
        "1 tensor of element type UNDEFINED (0), which ONNX does not have: `q`"
    )
    assert "`odd`" in message_of("DD204", partial(constant_of_type, dtype=77), tmp_path / "c")


def test_a_sequence_has_no_element_type_of_its_own(tmp_path: Path) -> None:
    def sequence(folder: Path) -> Path:
        made = small(nodes=[node("SequenceConstruct", ["y", "y"], ["z"], "sequence")])
        made.graph.output.add(name="z").type.sequence_type.elem_type.tensor_type.elem_type = 1
        return save(folder, made)

    assert messages_of("DD204", sequence, tmp_path) == []


def test_the_same_names_in_other_domains_are_ops_of_someone_else(tmp_path: Path) -> None:
    for op_type in ("SDBlock", "Gemm_noqdq"):

        def elsewhere(folder: Path, op_type: str = op_type) -> Path:
            made = small(nodes=[node(op_type, ["y"], ["z"], "own", "com.example")], outputs=[f32("z", *NCHW)])
            return save(folder, made)

        assert messages_of("DD201", elsewhere, tmp_path / op_type / "201") == []
        assert len(messages_of("DD202", elsewhere, tmp_path / op_type / "202")) == 1


def test_functions_that_call_themselves_are_named(tmp_path: Path) -> None:
    assert message_of("DD212", circle_of_functions, tmp_path) == (
        "2 local functions not entered, for each ends up calling itself: `local::A`, `local::B`"
    )


def test_what_inference_could_not_do_is_passed_on_and_circles_are_not(tmp_path: Path) -> None:
    functions = [local_function("A", [node("A", ["in"], ["out"], "again", LOCAL)])]
    both = partial(misdeclared, functions=functions)
    assert message_of("DD209", both, tmp_path).startswith("shape inference failed and its result is not used: ")
    assert message_of("DD212", both, tmp_path) == (
        "1 local function not entered, for each ends up calling itself: `local::A`"
    )
