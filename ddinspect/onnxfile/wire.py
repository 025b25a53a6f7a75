"""Protobuf wire format, only as far as needed to leave the weights where they are.

`strip` walks the tags of a serialized ModelProto and copies everything but the values of big tensors, so its cost
follows the number of fields outside the weights, not the size of the file. What remains goes to the ordinary protobuf
parser, which stays the judge of what is valid.

Formats: the protobuf encoding guide (https://protobuf.dev/programming-guides/encoding/) and onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol, TypeAlias, overload

from ddinspect.onnxfile.model import Payload


class Buffer(Protocol):
    """What `bytes` and a `FileView` have in common."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...


class WireError(Exception):
    """The bytes are not a protobuf message.

    Attributes:
        offset: Where in the file the reader stumbled.
        problem: Over what.
    """

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(f"{problem} at byte {offset}")
        self.offset = offset
        self.problem = problem


Field: TypeAlias = tuple[int, int, int, int, int]  # number, wire type, start of tag, start of content, end

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
START_GROUP: Final = 3
END_GROUP: Final = 4
FIXED32: Final = 5

# A message this small is copied whole: shape logic needs small tensors, and most nodes are never entered.
KEPT_TENSOR: Final = 1024
# Strings of attributes carry compiled blobs (EPContext); anything a reader looks at is shorter than this.
KEPT_STRING: Final = 65536
# protobuf's own parser refuses messages nested deeper than this.
MAX_DEPTH: Final = 100


def _varint(buffer: Buffer, at: int, end: int) -> tuple[int, int]:
    """Decode one varint. Returns (value, offset behind it)."""
    value = 0
    for i in range(min(10, end - at)):
        byte = buffer[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise WireError(at, "a number of more than ten bytes" if end - at >= 10 else "the file ends inside a number")


def _skip_group(buffer: Buffer, at: int, end: int, number: int) -> int:
    """Offset behind the end tag of the group `number` whose content starts at `at`."""
    open_groups = [number]
    while open_groups:
        if at >= end:
            raise WireError(at, "a group that does not end")
        tag, at = _varint(buffer, at, end)
        kind = tag & 7
        if kind == START_GROUP:
            open_groups.append(tag >> 3)
            if len(open_groups) > MAX_DEPTH:
                raise WireError(at, f"messages nested more than {MAX_DEPTH} deep")
        elif kind == END_GROUP:
            if open_groups.pop() != tag >> 3:
                raise WireError(at, "a group that ends as another one")
        else:
            _, at = _content(buffer, tag, at, end)
    return at


def _content(buffer: Buffer, tag: int, at: int, end: int) -> tuple[int, int]:
    """Where the content of a field lies whose tag ends at `at`: (start, end)."""
    kind = tag & 7
    start = at
    if kind == VARINT:
        _, stop = _varint(buffer, at, end)
    elif kind == BYTES:
        length, start = _varint(buffer, at, end)
        stop = start + length
    elif kind == FIXED32:
        stop = at + 4
    elif kind == FIXED64:
        stop = at + 8
    elif kind == START_GROUP:
        stop = _skip_group(buffer, at, end, tag >> 3)
    else:
        raise WireError(at, f"wire type {kind}, which protobuf does not have here")
    if stop > end:
        raise WireError(start, f"a field of {stop - start} bytes where {end - start} are left")
    return start, stop


def fields(buffer: Buffer, start: int, end: int) -> Iterator[Field]:
    """The fields of the message in `buffer[start:end]`.

    Raises:
        WireError: the bytes are not a protobuf message.
    """
    at = start
    while at < end:
        tag, behind = _varint(buffer, at, end)
        number = tag >> 3
        if not 0 < number < 1 << 29:
            raise WireError(at, f"field number {number}, which protobuf does not have")
        content, stop = _content(buffer, tag, behind, end)
        yield number, tag & 7, at, content, stop
        at = stop


class _Message:
    """What to look for inside one kind of message, by field number.

    Attributes:
        children: Messages to enter.
        once: Those of them that hold tensors and occur once. If one occurs again, protobuf merges the two, so both are
            copied whole.
        payloads: Values to leave in the file, with the name of their field.
        keep: Values of up to so many bytes are kept.
        mark: Field that says which value was left out. It is cleared wherever it is not ours.
    """

    def __init__(self, *, payloads: Mapping[int, str] | None = None, keep: int = 0, mark: int = 0) -> None:
        self.children: dict[int, _Message] = {}
        self.once: frozenset[int] = frozenset()
        self.payloads = payloads or {}
        self.keep = keep
        self.mark = mark


_TENSOR = _Message(
    payloads={
        4: "float_data", 5: "int32_data", 6: "string_data", 7: "int64_data", 9: "raw_data", 10: "double_data",
        11: "uint64_data",
    },
    keep=KEPT_TENSOR,
    mark=12,  # doc_string
)  # fmt: skip
_SPARSE = _Message()
_ATTRIBUTE = _Message(payloads={4: "s"}, keep=KEPT_STRING, mark=13)  # doc_string
_NODE = _Message()
_GRAPH = _Message()
_FUNCTION = _Message()
_TRAINING = _Message()
_MODEL = _Message()
_SPARSE.children = {1: _TENSOR, 2: _TENSOR}
_SPARSE.once = frozenset({1, 2})
_ATTRIBUTE.children = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE}
_ATTRIBUTE.once = frozenset({5, 22})
_NODE.children = {5: _ATTRIBUTE}
_GRAPH.children = {1: _NODE, 5: _TENSOR, 15: _SPARSE}
_FUNCTION.children = {7: _NODE, 11: _ATTRIBUTE}
_TRAINING.children = {1: _GRAPH, 2: _GRAPH}
_MODEL.children = {7: _GRAPH, 20: _TRAINING, 25: _FUNCTION}


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def bytes_field(number: int, content: bytes) -> bytes:
    """A serialized length-delimited field."""
    return _encode_varint(number << 3 | BYTES) + _encode_varint(len(content)) + content


class _Stripper:
    """One pass over one file."""

    def __init__(self, buffer: Buffer, mark: str) -> None:
        self.buffer = buffer
        self.mark = mark
        self.payloads: list[Payload] = []

    def message(self, kind: _Message, start: int, end: int, depth: int) -> bytes:
        """The message in `buffer[start:end]` without the values of big tensors."""
        if depth > MAX_DEPTH:
            raise WireError(start, f"messages nested more than {MAX_DEPTH} deep")
        found = list(fields(self.buffer, start, end))
        payload = _payload(kind, found)
        merged = {number for number in kind.once if sum(field[0] == number for field in found) > 1}
        out = bytearray()
        copied = start  # what lies before this offset is in `out`, or left out
        for number, wire, tag, content, stop in found:
            is_big = wire == BYTES and stop - content > KEPT_TENSOR
            child = kind.children.get(number) if is_big and number not in merged else None
            is_value = payload is not None and number in kind.payloads
            if child is None and not is_value and number != kind.mark:
                continue
            out += self.buffer[copied:tag]
            copied = stop
            if child is not None:
                out += bytes_field(number, self.message(child, content, stop, depth + 1))
        out += self.buffer[copied:end]
        if payload is not None:
            out += bytes_field(kind.mark, f"{self.mark}{len(self.payloads)}".encode())
            self.payloads.append(payload)
        return bytes(out)


def _payload(kind: _Message, found: list[Field]) -> Payload | None:
    """Where the values of a message lie, if they are to be left in the file."""
    values = [field for field in found if field[0] in kind.payloads]
    if sum(stop - content for _, _, _, content, stop in values) <= kind.keep:
        return None
    number, wire, first, content, last = values[0]
    if len(values) == 1 and wire == BYTES:
        return Payload(content, last - content, kind.payloads[number])
    # Strings, numbers that are not packed, a field written twice: the parser will put them together.
    return Payload(first, values[-1][4] - first, "")


def strip(buffer: Buffer, mark: str) -> tuple[bytes, list[Payload]]:
    """Copy a serialized ModelProto without the values of its big tensors.

    Covers initializers, sparse initializers, Constant attributes, sub-graphs, functions and training graphs. A tensor
    or attribute whose value was left out carries `mark` and an index into the returned list in its doc_string.

    Args:
        buffer: The file.
        mark: A text that does not occur in the file.

    Raises:
        WireError: the bytes are not a protobuf message, or messages are nested more than 100 deep.
    """
    stripper = _Stripper(buffer, mark)
    return stripper.message(_MODEL, 0, len(buffer), 0), stripper.payloads
