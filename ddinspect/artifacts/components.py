"""Which models a folder holds: a model folder, a component with one or several DD folders, or a package of components.

Layouts seen in AMD's packages and Olive's output:

    unet/dd/replaced.onnx                       one DD folder
    unet/dynamic/dd/replaced.onnx               the same, for all resolutions
    unet/512/dd/replaced.onnx, unet/1024/dd/... one per resolution (`512_83`: with the T5 length behind it)
    unet/model.onnx                             Olive's copy of dd/replaced.onnx, or a model that has none
    text_encoder/model.onnx                     a component that is not partitioned
    normal/transformer/512_83/dd/..., common/vae_decoder/512/dd/...   components in groups
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from ddinspect.errors import UnreadableInputError, reason_of

REPORT_TEXT: Final = "onnx_report.txt"
DD_FOLDER: Final = "dd"
LEVELS: Final = 5
FOLDERS: Final = 10_000
_REPLACED: Final = "replaced.onnx"
_RESOLUTION: Final = re.compile(r"dynamic|\d+(x\d+)?(_\d+)?")
# None of these holds a component; hidden folders neither. `dd` belongs to the component above it.
_SKIPPED: Final = frozenset({DD_FOLDER, "cache", "node_modules", "site-packages", "venv", "__pycache__"})

FoundKind: TypeAlias = Literal["model", "text"]


class Found(NamedTuple):
    """One model, or a report text where the model itself is not there.

    Attributes:
        component: The component's folder, relative to the folder that was searched; `.` for that folder itself.
        resolution: Name of the resolution folder it lies in (`512`, `dynamic`), if any.
    """

    kind: FoundKind
    path: Path
    component: Path
    resolution: str | None = None


class _Listing(NamedTuple):
    folders: tuple[str, ...]
    files: tuple[str, ...]


class _Place(NamedTuple):
    """A folder where a component may keep a model."""

    folder: Path
    resolution: str | None = None


def find_components(root: Path) -> tuple[Found, ...]:
    """Every model in a folder and up to `LEVELS` folders below, sorted by path.

    A folder with DD folders or a `replaced.onnx` is a component, and nothing is looked for below it.

    Raises:
        UnreadableInputError: the folder cannot be listed, or there are more than `FOLDERS` folders in it.
    """
    _list(root)
    found: dict[Path, Found] = {}
    pending: list[tuple[Path, tuple[str, ...]]] = [(root, ())]
    looked_at = 0
    while pending:
        folder, above = pending.pop()
        real = os.path.realpath(folder)
        if real in above:  # a symlink back to a folder above it
            continue
        looked_at += 1
        if looked_at > FOLDERS:
            raise UnreadableInputError(str(root), f"more than {FOLDERS} folders", "name a component or package folder")
        listing = _list_quietly(folder)
        here, complete = _in_component(folder, listing, folder.relative_to(root))
        for item in here:
            found.setdefault(item.path, item)
        if not complete and len(above) < LEVELS:
            pending += [(folder / name, (*above, real)) for name in listing.folders if _may_hold_components(name)]
    return tuple(sorted(found.values(), key=lambda item: item.path.parts))


def is_resolution(name: str) -> bool:
    """Whether a folder of this name holds a model for one resolution, or for all."""
    return _RESOLUTION.fullmatch(name) is not None


def component_name(folder: Path) -> str:
    """Name of the component that a model folder belongs to: `unet` for `unet/512/dd`."""
    parts = list(Path(os.path.abspath(folder)).parts)  # noqa: PTH100  resolve() would follow symlinks
    if parts[-1] == DD_FOLDER:
        parts.pop()
    if parts and is_resolution(parts[-1]):
        parts.pop()
    return parts[-1] if parts else ""


def _in_component(folder: Path, listing: _Listing, component: Path) -> tuple[list[Found], bool]:
    """Models of one component, and whether it is one beyond doubt.

    What lies in a DD or resolution folder comes first: a model above it is its source or a copy of it.
    """
    name = component_name(folder)
    places = _places(folder, listing)
    placed = [
        Found("model", path, component, place.resolution) for place in places for path in _models(place.folder, name)
    ]
    if placed:
        return placed, True
    own = [Found("model", path, component) for path in _models(folder, name)]
    if own:
        return own, _REPLACED in listing.files
    texts = [
        Found("text", place.folder / REPORT_TEXT, component, place.resolution)
        for place in (*places, _Place(folder))
        if REPORT_TEXT in _list_quietly(place.folder).files
    ]
    return texts, False


def _places(folder: Path, listing: _Listing) -> list[_Place]:
    """DD folders of a component; a resolution folder counts itself where it has no `dd` in it."""
    places: list[_Place] = []
    for name in listing.folders:
        if name == DD_FOLDER:
            places.append(_Place(folder / name))
        elif _RESOLUTION.fullmatch(name):
            inner = _list_quietly(folder / name)
            place = folder / name / DD_FOLDER if DD_FOLDER in inner.folders else folder / name
            places.append(_Place(place, name))
    return places


def _models(folder: Path, component: str) -> list[Path]:
    """The model of one folder; all of them where none stands out."""
    models = [name for name in _list_quietly(folder).files if _is_model_name(name)]
    for preferred in (_REPLACED, "model.onnx", f"{component}.onnx"):
        if preferred in models:
            return [folder / preferred]
    return [folder / name for name in models]


def _is_model_name(name: str) -> bool:
    return name.lower().endswith(".onnx") and not name.startswith(".")


def _may_hold_components(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED


def _list(folder: Path) -> _Listing:
    """Sub-folders and files by name, sorted; symlinks count as what they point to."""
    folders: list[str] = []
    files: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_folder(entry):
                    folders.append(entry.name)
                elif _is_file(entry):
                    files.append(entry.name)
    except OSError as error:
        raise UnreadableInputError(str(folder), f"cannot be listed: {reason_of(error)}") from error
    return _Listing(tuple(sorted(folders)), tuple(sorted(files)))


def _list_quietly(folder: Path) -> _Listing:
    """The same for a folder nobody named: one that cannot be listed is empty."""
    try:
        return _list(folder)
    except UnreadableInputError:
        return _Listing((), ())


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symlink that points to itself
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False
