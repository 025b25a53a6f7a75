"""What can go wrong for a reason the user can do something about.

The command line turns each of these into one line on stderr and the exit code it carries; a library caller
catches `DDInspectError`.
"""

from __future__ import annotations

from typing import ClassVar

from ddinspect.printable import printable


class DDInspectError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        message: One line for a person. What does not print, such as a newline in a file name, is shown escaped.

    Attributes:
        exit_code: What the command exits with.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class UnreadableInputError(DDInspectError):
    """A path that is no model, report or package, or a file whose content cannot be read as one.

    Args:
        path: What the user named, as they would recognise it.
        problem: What is wrong with it, with the byte offset where there is one.
        advice: What to do next.
    """

    def __init__(self, path: str, problem: str, advice: str = "") -> None:
        super().__init__(f"{path}: {problem}" + (f"; {advice}" if advice else ""))
        self.path = path
        self.problem = problem
        self.advice = advice


class UsageError(DDInspectError):
    """Options that do not fit together or do not fit the input."""


def reason_of(error: OSError | ValueError) -> str:
    """Why the system refused something, in its own words, without the number and the path it puts round them."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
