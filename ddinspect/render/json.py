"""JSON: the public form of a report, written and read back."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from ddinspect.errors import UnreadableInputError
from ddinspect.report import PACKAGE_SCHEMA, REPORT_SCHEMA, REPORTS_SCHEMA, PackageReport, Report, Reports

if TYPE_CHECKING:
    from ddinspect.report import Document

_READABLE: Final = (REPORT_SCHEMA, PACKAGE_SCHEMA, REPORTS_SCHEMA)
_DIGITS: Final = 60  # far more than any count of bytes or MACs, and still no trouble as a float
_MAKE_ONE: Final = "make one with `ddinspect report MODEL --format json -o FILE`"


def render_json(document: Document) -> str:
    """One JSON document with a line break at its end.

    Keys come in the order they are declared in. Everything outside ASCII is escaped, so that a console of any encoding
    can print it; that is also why the standard library writes it: it has a form for the lone surrogates that stand
    for undecodable bytes in file names.
    """
    return json.dumps(msgspec.to_builtins(document), indent=2, allow_nan=False) + "\n"


def parse_document(text: bytes, path: str) -> Document:
    """Read what `render_json` wrote. Keys that this version does not know are passed over.

    Args:
        text: The file's content in UTF-8, -16 or -32, with or without a byte order mark.
        path: Where it comes from, for messages.

    Raises:
        UnreadableInputError: Not JSON, not a report, or a report of a version that this one cannot read.
    """
    try:
        raw = json.loads(text, parse_constant=_no_such_number, parse_float=_finite, parse_int=_of_few_digits)
    except RecursionError as error:
        raise UnreadableInputError(path, "JSON nested too deeply to be a report", _MAKE_ONE) from error
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are both
        raise UnreadableInputError(path, f"not JSON ({error})", _MAKE_ONE) from error
    _check_schema(raw, path)
    try:
        return msgspec.convert(raw, Report | PackageReport | Reports)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        # msgspec raises the latter for a lone surrogate where it expects one of a few words.
        advice = "the file was changed by hand or by a newer ddinspect; " + _MAKE_ONE
        raise UnreadableInputError(path, f"not a valid {raw['schema']} document: {error}", advice) from error


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(number: str) -> float:
    if math.isinf(value := float(number)):
        raise ValueError(f"{number} is too large a number")
    return value


def _of_few_digits(number: str) -> int:
    if len(number) > _DIGITS:
        raise ValueError(f"a number of {len(number)} digits")
    return int(number)


def _check_schema(raw: Any, path: str) -> None:
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if schema in _READABLE:
        return
    if not isinstance(schema, str):
        raise UnreadableInputError(path, "JSON, but not a ddinspect document: it has no `schema`", _MAKE_ONE)
    name, _, version = schema.rpartition("/")
    if version.isdecimal() and f"{name}/1" in _READABLE:
        raise UnreadableInputError(path, f"{schema} is newer than this ddinspect can read", "update ddinspect")
    raise UnreadableInputError(path, f"{schema!a} is not a report (those are {', '.join(_READABLE)})", _MAKE_ONE)
