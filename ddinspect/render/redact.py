r"""Redaction: a report that can be shared without saying who made it or where.

- A path keeps its last three parts (`unet/dd/replaced.onnx`; a folder `cache` is not counted); what stands before them
  becomes `<dir1>`, `<dir2>`, ... The home folder of a user and the name of a server and its share never stay,
  however short the path.
- The user's name in a home path (`/home/X`, `/Users/X`, `C:\Users\X`) becomes `<user>` in every string, a second one
  `<user2>`.
- The same input always gets the same placeholder, so what matched still matches. Redacting again changes nothing.

Names of nodes and tensors look like paths and are none: only home paths are replaced in them. A sentence may quote
paths; found there are those of the report's own files and what is plainly a path (`D:\...`, `/home/...`, `/tmp/...`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from ddinspect.report import Document

_PATH_KEYS: Final = frozenset({"path", "meta", "original", "text", "xclbin"})
_SENTENCE_KEYS: Final = frozenset({"message", "fix", "notes", "reason"})
_KEPT_PARTS: Final = 3

_HOME: Final = r"(?:^|(?<=[\\/]))(?:home|users)[\\/]+"
_USER_IN_PATH: Final = re.compile(rf"(?i){_HOME}([^\\/]+)")
_WORD: Final = r"[^\\/\s'\"`:;,<>|()\[\]]+"
_USER_IN_TEXT: Final = re.compile(rf"(?i)(?<=[\\/])(?:home|users)[\\/]+({_WORD})")
_SHARE: Final = re.compile(r"[\\/]{2}[^\\/]+(?:[\\/]+[^\\/]+)?")
_PLAINLY_A_PATH: Final = re.compile(
    r"(?<![\w/\\])(?:[A-Za-z]:[\\/]|\\\\|/(?:home|Users|root|mnt|media|tmp|var|opt|srv|Volumes|private)/)"
    r"[^\s'\"`;,<>|()]+"
)


def redact(document: Document) -> Document:
    """The document with folders and user names replaced by placeholders."""
    raw = msgspec.to_builtins(document)
    strings = list(_strings(raw))
    paths = [text for key, text in strings if key in _PATH_KEYS]
    for key, text in strings:
        if key in _SENTENCE_KEYS:
            paths += [path.rstrip(".:") for path in _PLAINLY_A_PATH.findall(text)]
    folders = {folder for path in paths if (folder := _personal_folder(path))}
    users = [*_users(_USER_IN_PATH, paths), *_users(_USER_IN_TEXT, (text for _, text in strings))]
    return msgspec.convert(_Redactor(folders, users).value(raw, ""), type(document))


class _Redactor:
    """Replaces the given folders and users; numbers go by first appearance in the document."""

    def __init__(self, folders: Iterable[str], users: Iterable[str]) -> None:
        self.folders = sorted(folders, key=lambda folder: (-len(folder), folder))
        known = "|".join(re.escape(user) for user in sorted(set(users), key=lambda user: (-len(user), user)))
        self.users = re.compile(rf"(?i)({_HOME})({known})(?![\w-])") if known else None
        self.quoted = [(folder, _quoted(folder)) for folder in self.folders]
        self.placeholders: dict[str, str] = {}
        self.user_names: dict[str, str] = {}

    def value(self, value: Any, key: str) -> Any:
        """A value of the document; `key` is the nearest key above it."""
        if isinstance(value, dict):
            return {self.without_users(name): self.value(inner, name) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner, key) for inner in value]
        if not isinstance(value, str):
            return value
        if key in _PATH_KEYS:
            value = self.path(value)
        elif key in _SENTENCE_KEYS:
            value = self.sentence(value)
        return self.without_users(value)

    def path(self, path: str) -> str:
        for folder in self.folders:
            if path == folder or (path.startswith(folder) and path[len(folder)] in "\\/"):
                return self.placeholder(folder) + path[len(folder) :]
        return path

    def sentence(self, text: str) -> str:
        for folder, pattern in self.quoted:
            if pattern.search(text):
                text = pattern.sub(self.placeholder(folder), text)
        return text

    def placeholder(self, folder: str) -> str:
        return self.placeholders.setdefault(folder, f"<dir{len(self.placeholders) + 1}>")

    def without_users(self, text: str) -> str:
        return text if self.users is None else self.users.sub(self._user, text)

    def _user(self, match: re.Match[str]) -> str:
        count = len(self.user_names)
        name = self.user_names.setdefault(match.group(2).lower(), f"<user{count + 1}>" if count else "<user>")
        return match.group(1) + name


def _strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string below a value with the nearest key above it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield ("", name)
            yield from _strings(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner, key)
    elif isinstance(value, str):
        yield (key, value)


def _users(pattern: re.Pattern[str], texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (name for name in pattern.findall(text) if not name.startswith("<user"))


def _personal_folder(path: str) -> str | None:
    """What a path has before the parts it keeps; None if nothing of it must go."""
    parts = list(re.finditer(r"[^\\/]+", path))
    if not parts or parts[0].group().startswith("<dir"):
        return None
    kept = _KEPT_PARTS + any(part.group().lower() in ("cache", ".cache") for part in parts[-_KEPT_PARTS:])
    end = parts[-kept].start() if len(parts) > kept else 0
    if share := _SHARE.match(path):
        end = max(end, share.end())
    for home in _USER_IN_PATH.finditer(path):
        end = max(end, home.end())
    return path[:end].rstrip("\\/") or None


def _quoted(folder: str) -> re.Pattern[str]:
    """Where a sentence names the folder. A relative one may be an everyday word: it counts only before a separator."""
    absolute = folder[0] in "\\/" or folder[1:2] == ":"
    return re.compile(r"(?<![\w./\\-])" + re.escape(folder) + (r"(?![\w-])" if absolute else r"(?=[\\/])"))
