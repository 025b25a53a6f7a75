"""Rules about files beside a model. They look at existence, size and the first bytes, and open nothing elsewhere."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from ddinspect.onnxfile.dtypes import nbytes
from ddinspect.onnxfile.model import Model, Tensor
from ddinspect.onnxfile.sniff import LFS_POINTER
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import nodes_of, parts
from ddinspect.rules.wording import counted, listed, quoted, size

_DRIVE: Final = re.compile("[A-Za-z]:")
_LARGEST_POINTER: Final = 1024  # bytes; the Git LFS specification says a pointer is smaller
_SIDE_FOLDERS: Final = ("cache", ".cache", "dd/cache", "dd/.cache")
_STATE_FILES: Final = re.compile("dd_metastate_.*")

# A path that begins with a drive, a server, or a folder that people's own files lie in. What stands before it must not
# be part of a name or of a web address.
_LOCAL_PATH: Final = re.compile(
    r"""(?<![A-Za-z0-9])[A-Za-z]:(?:\\|/(?!/))
    | (?<!\\)\\\\[\w.$-]+\\[\w$]
    | (?:(?<![\w./~-])|(?<=file://))/(?:home|Users|root|mnt|media|tmp|private|scratch|srv|workspace|var/folders)(?![\w.-])
    """,
    re.VERBOSE,
)


def _by_location(model: Model) -> dict[str, list[Tensor]]:
    """Tensors whose values lie outside the model file, by the location the file states."""
    found: defaultdict[str, list[Tensor]] = defaultdict(list)
    for tensor in model.external:
        if tensor.external is not None:
            found[tensor.external.location].append(tensor)
    return found


def _end(tensor: Tensor) -> int:
    """First byte behind the values of a tensor in its data file; without a stated length that of its dims."""
    if tensor.external is None:
        return 0
    length = tensor.external.length
    if length is None:
        length = nbytes(tensor.dtype, tensor.dims) or 0
    return tensor.external.offset + length


def _unsafe(location: str) -> str | None:
    """Why a location may not be opened, from its text alone; None if nothing speaks against it."""
    if not location:
        return "empty"
    if "\0" in location:
        return "not a path"
    if location.startswith("/") or _DRIVE.match(location):
        return "absolute"
    if "\\" in location:
        return "back-slashes, which only Windows takes for folders"
    depth = 0
    for part in PurePosixPath(location).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return "outside the model's folder"
    return None


def _leads_out(context: Context, location: str) -> bool:
    """Whether a file behind symbolic links lies neither in the model's folder nor in that of the model's real file.

    A download cache keeps a folder of links to files that lie together elsewhere.
    """
    target = os.path.realpath(context.folder / location)
    model = os.path.realpath(context.split.model.path)
    homes = (os.path.realpath(context.folder), os.path.dirname(model))  # noqa: PTH120  compared as text
    return not any(os.path.commonpath((home, target)) == home for home in homes if _same_drive(home, target))


def _same_drive(first: str, second: str) -> bool:
    return os.path.splitdrive(first)[0].lower() == os.path.splitdrive(second)[0].lower()


def _data_files(context: Context) -> Iterator[tuple[str, list[Tensor], Path, int | None]]:
    """Locations inside the folder: name, tensors, path, and bytes of the file (None if it is not there)."""
    for location, found in _by_location(context.split.model).items():
        if _unsafe(location) is None and not _leads_out(context, location):
            path = context.folder / location
            yield location, found, path, _bytes_of(path)


def _bytes_of(path: Path) -> int | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _is_lfs_pointer(path: Path) -> bool:
    length = _bytes_of(path)
    if length is None or length > _LARGEST_POINTER:
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(LFS_POINTER)) == LFS_POINTER
    except OSError:
        return False


def _external_data_missing(context: Context) -> Iterator[Hit]:
    """One finding per data file; files of a single tensor, of which an export may write hundreds, share one."""
    single: list[tuple[str, int]] = []
    for location, found, _, length in _data_files(context):
        if length is not None:
            continue
        stated = sum(_end(tensor) - tensor.external.offset for tensor in found if tensor.external)
        if len(found) == 1:
            single.append((location, stated))
        else:
            yield Hit(f"{size(stated)} external data, absent: {quoted(location)} with {counted(len(found), 'tensor')}")
    if single:
        files = listed(quoted(location) for location, _ in single)
        held = "1 tensor" if len(single) == 1 else f"1 tensor each ({counted(len(single), 'file')})"
        yield Hit(f"{size(sum(stated for _, stated in single))} external data, absent: {files} with {held}")


def _external_data_outside(context: Context) -> Iterator[Hit]:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for location in _by_location(context.split.model):
        reason = _unsafe(location)
        if reason is None and _leads_out(context, location):
            reason = "behind a symbolic link out of the model's folder"
        if reason is not None:
            reasons[reason].append(quoted(location))
    for reason, locations in reasons.items():
        number = counted(len(locations), "location")
        yield Hit(f"{number} of external data refused and not opened ({reason}): {listed(locations)}")


def _external_data_short(context: Context) -> Iterator[Hit]:
    for location, found, path, length in _data_files(context):
        needed = max(map(_end, found))
        if length is not None and length < needed and not _is_lfs_pointer(path):
            beyond = [quoted(tensor.name) for tensor in found if _end(tensor) > length]
            stated = f"{quoted(location)} has {length:,} bytes, the model needs {needed:,}"
            yield Hit(f"{stated}: {counted(len(beyond), 'tensor')} cut off, {listed(beyond)}")


def _lfs_pointer(context: Context) -> Iterator[Hit]:
    paths = [path for _, _, path, _ in _data_files(context)] + _side_files(context.folder)
    found = [path.relative_to(context.folder).as_posix() for path in dict.fromkeys(paths) if _is_lfs_pointer(path)]
    if found:
        yield Hit(f"{counted(len(found), 'Git LFS pointer')} where a file should be: {listed(map(quoted, found))}")


def _side_files(folder: Path) -> list[Path]:
    """What the runtime opens for a model: state files by their name, and all that lies in the cache folders."""
    found = [path for path in _listing(folder) if _STATE_FILES.fullmatch(path.name)]
    for name in _SIDE_FOLDERS:
        found += _listing(folder / name)
    return found


def _listing(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _local_path_leaked(context: Context) -> Iterator[Hit]:
    model = context.split.model
    for key, value in model.metadata.items():
        if _LOCAL_PATH.search(value):
            yield Hit(f"metadata_props {quoted(key)} of the model holds a path of the machine that made it")
    nodes = Counter(
        key
        for part in parts(model)
        for node in nodes_of(part)
        for key, value in node.metadata.items()
        if _LOCAL_PATH.search(value)
    )
    for key, number in nodes.items():
        yield Hit(f"metadata_props {quoted(key)} of {counted(number, 'node')} holds a path of the machine that made it")


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD301",
        name="external-data-missing",
        severity="info",
        summary="A file of external data is not there.",
        why="Nothing in this report needs the weights, and a replaced graph is often passed on without them; only to "
        "run the model the file must be there.",
        fix="Put the data file beside the model under the name the model states, if the model is to be run.",
        check=_external_data_missing,
    ),
    Rule(
        id="DD302",
        name="external-data-outside",
        severity="error",
        summary="External data lies outside the model's folder.",
        why="ONNX wants a relative path below the model's folder. The runtime refuses anything else, and a model from "
        "elsewhere could read any file that way.",
        fix="Save the model again with its data beside it: onnx.save with save_as_external_data and a plain file name.",
        check=_external_data_outside,
    ),
    Rule(
        id="DD303",
        name="external-data-short",
        severity="error",
        summary="A file of external data is shorter than the model needs.",
        why="Tensors at its end have no values, so the runtime cannot load the model. A broken download or a data file "
        "of another export is the usual cause.",
        fix="Download or export the data file again, together with the model.",
        check=_external_data_short,
    ),
    Rule(
        id="DD304",
        name="lfs-pointer",
        severity="error",
        summary="A file that the model needs is a Git LFS pointer.",
        why="The repository was cloned without its large files: the pointer is a text of three lines in place of the "
        "weights, the state or the metadata, so the runtime cannot load the model.",
        fix="Run `git lfs install` and `git lfs pull` in the repository.",
        check=_lfs_pointer,
    ),
    Rule(
        id="DD305",
        name="local-path-leaked",
        severity="info",
        summary="The model holds a path of the machine that made it.",
        why="Such a path often tells a user name and a project name to everyone who gets the model. AMD's partitioner "
        "writes `onnx_utils_load`, PyTorch's exporter `pkg.torch.onnx.stack_trace`.",
        fix="Delete these metadata_props entries before the model is published; nothing reads them at run time.",
        check=_local_path_leaked,
    ),
)
