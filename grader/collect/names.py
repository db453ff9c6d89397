"""Untrusted file names: which ones count, and how to display them safely."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from grader.errors import one_line

MAX_LENGTH = 1_000
"""Maximum characters of a path within a folder or zip."""
MAX_FOLDERS = 40
"""Maximum nesting depth of folders."""

_SHOWN = 160
_SAID = 400
_SILENT = {".ipynb_checkpoints", "__MACOSX", "Thumbs.db", "desktop.ini", "times.csv"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message to the instructor about one file. It never stops the batch."""

    level: Literal["info", "warning"]
    """A warning if a student's work may be missing or misread."""
    path: str
    """Path within the folder or zip, safe to display."""
    text: str
    student: str = ""
    """The student whose file it is; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A notice with the full path of its file, which determines whose file it is."""

    name: PurePosixPath
    notice: Notice


def make_remark(level: Literal["info", "warning"], name: PurePosixPath, text: str) -> Remark:
    """Returns a remark with a notice that is safe to print, and the unchanged *name*."""
    return Remark(name=name, notice=make_notice(level, name, text))


def make_notice(level: Literal["info", "warning"], name: PurePosixPath, text: str) -> Notice:
    """Returns a notice that is safe to print, whatever *name* and *text* contain."""
    return Notice(level=level, path=display_name(name), text=one_line(text, _SAID))


def display_name(name: PurePosixPath | str) -> str:
    """Returns *name* shortened and escaped for display."""
    return one_line(str(name), _SHOWN)


def storable(text: str) -> str:
    """Returns *text* with characters replaced that UTF-8 or a database can't store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def is_notebook(name: PurePosixPath) -> bool:
    """Returns whether *name* has the extension of a notebook."""
    return name.suffix.casefold() == ".ipynb"


def is_ignored(name: PurePosixPath) -> bool:
    """Returns whether *name* is hidden or made by a program, so that no notice mentions it."""
    return any(part in _SILENT or (part[0] == "." and part != "..") for part in name.parts)


def is_too_long(name: PurePosixPath) -> bool:
    """Returns whether the path is longer or deeper than any that a person would make."""
    return len(str(name)) > MAX_LENGTH or len(name.parts) > MAX_FOLDERS + 1
