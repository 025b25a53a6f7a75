"""The one place that writes: a document to stdout or a file, everything else to stderr."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import Literal, NamedTuple, TextIO, TypeAlias

from ddinspect.errors import DDInspectError, reason_of

ColorChoice: TypeAlias = Literal["auto", "always", "never"]


class OutputError(DDInspectError):
    """The document could not be written."""


class Terminal(NamedTuple):
    """What stdout can show.

    Attributes:
        width: Columns; None if it is no terminal, where lines are as long as they are.
        color: Whether to use colour.
        unicode: Whether box characters can be encoded.
    """

    width: int | None
    color: bool
    unicode: bool


def terminal(choice: ColorChoice, *, to_file: bool) -> Terminal:
    """What the document will be shown on."""
    is_terminal = not to_file and sys.stdout is not None and sys.stdout.isatty()
    # https://no-color.org: the variable counts if it is not empty.
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    color = choice == "always" or (choice == "auto" and is_terminal and not plain)
    return Terminal(
        width=_columns() if is_terminal else None, color=color, unicode=to_file or _can_encode_boxes(sys.stdout)
    )


def _columns() -> int | None:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:  # a terminal of a kind that does not tell
        return None


def _can_encode_boxes(stream: TextIO | None) -> bool:
    try:
        "─│┌…".encode((stream.encoding if stream else None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write_document(text: str, path: str | None) -> None:
    """Write a document to a file, or to stdout where `path` is None.

    A file appears whole or not at all. Characters that stdout cannot encode are written as back-slash escapes.

    Raises:
        OutputError: the file cannot be written.
    """
    if path is None:
        _write_stdout(text)
    else:
        _write_file(text, Path(path))


def _write_stdout(text: str) -> None:
    if sys.stdout is None:
        return
    if hasattr(sys.stdout, "reconfigure"):
        # A renderer says how its lines end; a CSV ends them the same way on every system.
        sys.stdout.reconfigure(errors="backslashreplace", newline="")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes once more on exit: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Whoever read a pipe has seen enough; Windows calls that EINVAL.
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            raise OutputError(f"stdout: cannot be written: {reason_of(error)}") from error


def _write_file(text: str, path: Path) -> None:
    target = Path(os.path.realpath(path))  # a link is written through, not replaced
    if target.is_dir():
        raise OutputError(f"{path}: is a folder; name a file")
    try:
        if target.exists() and not target.is_file():
            _write(text, target)  # a device or a pipe: nothing that could be replaced
        else:
            _replace(text, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from error


def _write(text: str, target: Path) -> None:
    with target.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.write(text)


def _replace(text: str, target: Path) -> None:
    import tempfile

    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(descriptor)
    temporary = Path(name)
    try:
        _write(text, temporary)
        # A temporary file is private; the finished one gets the rights that a plain open would have given it.
        temporary.chmod(_mode_of_new_file(target))
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _mode_of_new_file(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def say(message: str) -> None:
    """One line on stderr. Control characters in it are shown, never sent."""
    from ddinspect.printable import printable

    if sys.stderr is None:
        return
    if hasattr(sys.stderr, "reconfigure"):
        sys.stderr.reconfigure(errors="backslashreplace")
    with contextlib.suppress(OSError):
        sys.stderr.write(f"ddinspect: {printable(message)}\n")
        sys.stderr.flush()
