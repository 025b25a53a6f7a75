from __future__ import annotations

import pytest
from analysing import split_of

from ddinspect.analysis.signature import shape_text, signature, signatures
from ddinspect.onnxfile.model import Shape, ValueInfo
from fixtures.small_graphs.base import small


# As AMD's report prints them: a scalar reads [1].
@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((1, 64, 64, 4), "[1,64,64,4]"),
        ((), "[1]"),
        ((0,), "[0]"),
        (("batch", None, 0, 4), "[batch,?,0,4]"),
        (("[x]\n",), "[[x]\n]"),  # shown as it is; printing it safely is the renderer's
        (None, "[*]"),
    ],
)
def test_shape_text(shape: Shape, text: str) -> None:
    assert shape_text(shape) == text


def test_signature() -> None:
    assert signature(ValueInfo("x", 1, (1, 2))) == "[1,2] - FLOAT"
    assert signature(ValueInfo("x")) == "[*] - ?"
    assert signature(ValueInfo("x", 99, (1,))) == "[1] - DTYPE(99)"


def test_omitted_and_unheard_of_tensors() -> None:
    split = split_of(small())
    found = signatures(split, split.flows[0].scope, ("x", "", "dd_in", "nowhere"))
    assert found == ("[1,4,8,8] - FLOAT", "[] - N/A", "[1,8,8,4] - BFLOAT16", "[*] - ?")
