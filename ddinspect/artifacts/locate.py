"""What lies beside a model, and what a path that a user names stands for."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from ddinspect.artifacts.components import DD_FOLDER, LEVELS, REPORT_TEXT, Found, find_components, is_resolution
from ddinspect.artifacts.metadata import COMBINED_NAME, Metadata, read_metadata
from ddinspect.artifacts.report_text import decode_text, looks_like_report_text
from ddinspect.errors import UnreadableInputError, reason_of

TargetKind: TypeAlias = Literal["model", "text", "saved"]

_CACHES: Final = ("cache", ".cache")  # in the order of AMD's runtime
_HEAD: Final = 64 * 1024  # log lines may stand before a report's first table
_PATTERN_SIGNS: Final = frozenset("*?[")


class MetadataFound(msgspec.Struct, frozen=True):
    """Metadata in the order in which the runtime looks, and a note on every file that was passed over."""

    metadata: tuple[Metadata, ...]
    notes: tuple[str, ...] = ()


class Target(msgspec.Struct, frozen=True):
    """One thing to report on.

    Attributes:
        kind: `saved` is a report that this package wrote as JSON.
        component: Key inside the folder that the user named, with `/` whatever the system: `unet`, or the path of the
            DD folder (`unet/512/dd`) where a component has several. None unless the folder stands for several.
        resolution: Name of the resolution folder (`512`, `1024_83`, `dynamic`), if the model lies in one.
    """

    kind: TargetKind
    path: str
    component: str | None = None
    resolution: str | None = None


class Resolved(msgspec.Struct, frozen=True):
    """What a path stands for.

    Attributes:
        package: It is a folder of components (there may be but one) or a component with several DD folders: the
            report is a package document. Otherwise there is exactly one target.
    """

    targets: tuple[Target, ...]
    package: bool


def find_metadata(model: str | os.PathLike[str], given: Sequence[str | os.PathLike[str]] = ()) -> MetadataFound:
    """Read the metadata of a model.

    Searched, in this order: `cache` and `.cache` beside the model (AMD's runtime), the model's own folder, `cache` and
    `.cache` beside the `dd` folder the model lies in or beside its resolution folder (Olive's output), and those of a
    `dd` folder beside the model (Olive copies `dd/replaced.onnx` to `model.onnx` above it). In each, every `.json` file
    with `meta` in its stem, as AMD's own report does; combined files come last, for newer runtimes do not read them.
    Metadata of other components is never looked at.

    Args:
        model: The .onnx file; it need not exist.
        given: Files and folders to read instead of searching.

    Raises:
        UnreadableInputError: something in `given` is missing, holds no metadata or cannot be read.
    """
    if given:
        parts = [_read_given(Path(path)) for path in given]
        return MetadataFound(
            tuple(metadata for part in parts for metadata in part.metadata),
            tuple(note for part in parts for note in part.notes),
        )
    files: list[Path] = []
    notes: list[str] = []
    for folder in _metadata_folders(Path(model)):
        try:
            files += _metadata_files(folder)
        except OSError as error:
            notes.append(f"{folder}: cannot be listed: {reason_of(error)}")
    found = _read_files(files)
    return MetadataFound(found.metadata, (*notes, *found.notes))


def _read_files(files: Iterable[Path]) -> MetadataFound:
    """Read files that a folder happens to hold: what is no metadata is passed over with a note."""
    metadata: list[Metadata] = []
    notes: list[str] = []
    for file in files:
        try:
            metadata += read_metadata(file)
        except UnreadableInputError as error:
            notes.append(str(error))
    return MetadataFound(tuple(sorted(metadata, key=lambda found: found.combined)), tuple(notes))


def find_report_text(model: str | os.PathLike[str]) -> str | None:
    """The `onnx_report.txt` beside a model."""
    path = Path(model).parent / REPORT_TEXT
    return str(path) if _is(stat.S_ISREG, path) else None


def resolve(path: str | os.PathLike[str]) -> Resolved:
    """Say what a path stands for: one model, report text or saved report, or the components of a folder.

    Files go by content. What is neither a report text nor JSON counts as a model, so that the model reader says what
    is wrong with it.

    Raises:
        UnreadableInputError: there is no such path, it may not be read, or it is a folder without a model.
    """
    name = os.fspath(path)
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISDIR(mode):
            kind: TargetKind = _kind_of_file(Path(path)) if stat.S_ISREG(mode) else "model"
            return Resolved((Target(kind, name),), package=False)
    except FileNotFoundError:
        raise UnreadableInputError(name, "no such file or folder", "check the spelling") from None
    except (OSError, ValueError) as error:
        raise UnreadableInputError(name, f"cannot be read: {reason_of(error)}") from error
    root = Path(path)
    found = find_components(root)
    if not found:
        wanted = f"looked for {DD_FOLDER}/replaced.onnx, any other .onnx and {REPORT_TEXT}"
        raise UnreadableInputError(name, "a folder without a model", f"{wanted} in it and {LEVELS} levels below")
    if len(found) == 1 and not found[0].component.parts:
        (item,) = found
        return Resolved((Target(item.kind, str(item.path), None, item.resolution),), package=False)
    keyed = zip(found, _keys(found, root), strict=True)
    targets = tuple(Target(item.kind, str(item.path), key, item.resolution) for item, key in keyed)
    return Resolved(targets, package=True)


def expand(paths: Sequence[str]) -> tuple[str, ...]:
    """Expand `*`, `?` and `[...]` where the shell did not; what exists under its literal name is left alone.

    Raises:
        UnreadableInputError: a pattern matches nothing.
    """
    expanded: list[str] = []
    for path in paths:
        if not path:
            raise UnreadableInputError("''", "an empty path", "is a variable of the shell unset?")
        if os.path.lexists(path) or not _PATTERN_SIGNS & set(path):
            expanded.append(path)
            continue
        matches = sorted(glob.glob(path))  # noqa: PTH207  Path.glob refuses absolute patterns
        if not matches:
            raise UnreadableInputError(path, "no file or folder matches this pattern", "check the spelling")
        expanded += matches
    return tuple(expanded)


def _metadata_folders(model: Path) -> list[Path]:
    folder = model.parent
    folders = [*(folder / cache for cache in _CACHES), folder]
    # The name of `.` is that of the working directory.
    if Path(os.path.abspath(folder)).name == DD_FOLDER:  # noqa: PTH100  resolve() would follow a symlinked `dd`
        above = folder.parent if folder.name == DD_FOLDER else folder / os.pardir
        folders += [above / cache for cache in _CACHES]
        if is_resolution(above.name):
            folders += [above.parent / cache for cache in _CACHES]
    else:
        folders += [folder / DD_FOLDER / cache for cache in _CACHES]
    return _existing(folders)


def _existing(folders: Sequence[Path]) -> list[Path]:
    """Those that are there, each once: `.cache` may be a symlink to `cache`."""
    by_place: dict[str, Path] = {}
    for folder in folders:
        if _is(stat.S_ISDIR, folder):
            by_place.setdefault(os.path.realpath(folder), folder)
    return list(by_place.values())


def _is(wanted: Callable[[int], bool], path: Path) -> bool:
    """Whether the path is there, can be reached, and is of that kind (`stat.S_ISDIR`, `stat.S_ISREG`)."""
    try:
        return wanted(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _metadata_files(folder: Path) -> list[Path]:
    files = [path for path in folder.iterdir() if path.suffix == ".json" and "meta" in path.stem and path.is_file()]
    return sorted(files, key=lambda path: (path.name == COMBINED_NAME, path.name))


def _read_given(path: Path) -> MetadataFound:
    if not _is(stat.S_ISDIR, path):
        return MetadataFound(read_metadata(path))
    # AMD's runtime takes `dd`, `dd/cache` and `dd/.cache` for the same.
    folders = _existing([*(path / cache for cache in _CACHES), path])
    try:
        found = _read_files(file for folder in folders for file in _metadata_files(folder))
    except OSError as error:
        raise UnreadableInputError(str(path), f"cannot be listed: {reason_of(error)}") from error
    if not found.metadata:
        advice = found.notes[0] if found.notes else "looked for .json files with `meta` in the name"
        raise UnreadableInputError(str(path), "a folder without metadata", advice)
    return found


def _kind_of_file(path: Path) -> TargetKind:
    if path.name == REPORT_TEXT:
        return "text"
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if decode_text(head).lstrip().startswith("{"):
        return "saved"
    return "text" if looks_like_report_text(head) else "model"


def _keys(found: Sequence[Found], root: Path) -> list[str]:
    """For each: the shortest of component, folder and file that no other model of the same component shares."""
    in_component = Counter(item.component for item in found)
    in_folder = Counter(item.path.parent for item in found)
    keys: list[str] = []
    for item in found:
        key = item.component
        if in_component[key] > 1:
            key = (item.path.parent if in_folder[item.path.parent] == 1 else item.path).relative_to(root)
        keys.append(key.as_posix())
    return keys
