"""The DynamicDispatch node: what AMD's partitioner writes into its attributes.

Sources: the published behaviour of AMD's `onnx_utils partition` and the public amd/DynamicDispatch repository. The op
type is `DynamicDispatch` or begins with it; the domain is whatever the partitioning strategy said, usually
`com.ryzenai`.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from ddinspect.onnxfile.model import AttributeValue, Dim, Node, Shape

OP_PREFIX: Final = "DynamicDispatch"
DOMAIN: Final = "com.ryzenai"

# The enum of AMD's runtime, by number.
MODEL_TYPES: Final = (
    "UNET", "DECODER", "UNET_BFP", "DECODER_BFP", "SD15_UNET", "SD15_DECODER", "SD30_MMDIT", "SD30_VAE",
    "LLM_PREFILL", "LLM_TOKEN", "UNKNOWN",
)  # fmt: skip


def is_dispatch(node: Node) -> bool:
    """Whether a node is a DD node, in any domain."""
    return node.op_type.startswith(OP_PREFIX)


def replaced(node: Node) -> tuple[str, ...] | None:
    """Names of the fused ops in a DD node, in order, duplicates kept; None if it is no list of strings."""
    value = node.attributes.get("replaced")
    if isinstance(value, bytes):
        return (text(value),)
    if isinstance(value, tuple):
        names = tuple(text(entry) for entry in value if isinstance(entry, bytes))
        return names if len(names) == len(value) else None
    return None


def repeated(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names that occur more than once, in order of first occurrence."""
    return tuple(name for name, count in Counter(names).items() if count > 1)


def xclbin(node: Node) -> str | None:
    """Path or resource key of the overlay a DD node runs on."""
    value = node.attributes.get("xclbin")
    return text(value) if isinstance(value, bytes) else None


def model_type(node: Node) -> str | None:
    """Name of the `model_type` of a DD node; its number if AMD's enum has no such name; None if it is missing."""
    value = node.attributes.get("model_type")
    if not isinstance(value, int):
        return None
    return MODEL_TYPES[value] if 0 <= value < len(MODEL_TYPES) else str(value)


def stated_shape(node: Node, side: Literal["input", "output"], index: int) -> Shape:
    """The shape that `input_shape_<i>` or `output_shape_<i>` states; None if it states none.

    Static models hold INTS; dynamic ones a STRING such as `2,16,h,w`, or STRINGS. An empty list or string states
    nothing: AMD's runtime takes it for a missing attribute.
    """
    value: AttributeValue = node.attributes.get(f"{side}_shape_{index}")
    entries = value if isinstance(value, tuple) else (value,)
    dims: list[Dim] = []
    for entry in entries:
        if isinstance(entry, bytes):
            dims.extend(map(_dim, text(entry).split(",") if entry.strip() else []))
        elif isinstance(entry, int) and isinstance(value, tuple):
            dims.append(entry if entry >= 0 else None)
        else:
            return None
    return tuple(dims) or None


def _dim(word: str) -> Dim:
    word = word.strip()
    if word.isascii() and word.isdigit():
        # A dim is an int64 in ONNX.
        return int(word) if len(word) < 19 else None
    # Without a letter it names nothing: `-1` and `?` mean unknown.
    return word if any(map(str.isalpha, word)) else None


def text(value: bytes) -> str:
    """An attribute string. Bytes that are not UTF-8 become visible escapes."""
    return value.decode("utf-8", "backslashreplace")
