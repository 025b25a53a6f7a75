"""Which metadata belongs to which DD node.

AMD's runtime goes by the name alone: it opens `<node name>_meta.json`. Names are compared as text, case-sensitively;
no path is ever made from one, so a node called `../x` reaches no file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ddinspect.artifacts.metadata import Metadata

_NOT_FILE_SAFE: Final = re.compile(r"[^-\w.]")


class Joined(msgspec.Struct, frozen=True):
    """DD nodes and their metadata.

    Attributes:
        by_name: Node name -> its metadata; a node without any is missing.
        unused: Metadata that no node asked for.
        shadowed: Metadata of a node that the runtime takes from another file.
    """

    by_name: Mapping[str, Metadata]
    unused: tuple[Metadata, ...]
    shadowed: tuple[Metadata, ...]


def sanitise(name: str) -> str:
    r"""The file-safe form of a node name: strip, spaces to `_`, drop every character outside `[-\w.]`.

    AMD's partitioner names a DD node, and so its files, after its first source node in this way. The rule is read off
    shipped packages (`NhwcConv_0-/conv_in/Conv` became `NhwcConv_0-conv_inConv`); the function itself is not public.
    It is what Django's `get_valid_filename` does, which AMD's shares the name with.
    """
    return _NOT_FILE_SAFE.sub("", name.strip().replace(" ", "_"))


def join(names: Sequence[str], found: Sequence[Metadata]) -> Joined:
    """Give every DD node its metadata.

    A node takes the metadata of exactly its name. One whose name is not file-safe and has no such metadata takes that
    of its file-safe name, unless a node of that name is there to claim it.

    Args:
        names: Names of the DD nodes.
        found: Metadata in the order in which the runtime looks; the first of a name wins.
    """
    first: dict[str, Metadata] = {}
    for metadata in found:
        first.setdefault(metadata.node, metadata)
    exact = set(names)
    by_name: dict[str, Metadata] = {}
    for name in names:
        safe = sanitise(name)
        key = name if name in first or safe in exact else safe
        if key in first:
            by_name[name] = first[key]
    taken = {metadata.node for metadata in by_name.values()}
    return Joined(
        by_name=by_name,
        unused=tuple(metadata for metadata in found if metadata.node not in taken),
        shadowed=tuple(m for m in found if m.node in taken and m is not first[m.node]),
    )
