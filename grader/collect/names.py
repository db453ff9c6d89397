"""Names of files as strangers made them: which of them count, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from grader.errors import shown

MAX_LENGTH = 1_000
"""Characters of a path within a folder or zip."""
MAX_FOLDERS = 40
"""On the way to a file."""

_SHOWN = 160
_SAID = 400
_SILENT = {".ipynb_checkpoints", "__MACOSX", "Thumbs.db", "desktop.ini"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something the instructor should know about one file; it never stops the batch."""

    level: Literal["info", "warning"]
    """A warning when a student's work may be missing or misread."""
    path: str
    """Within the folder or zip, as it can be shown."""
    text: str
    student: str = ""
    """Whose file it is; empty when nobody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A notice with the whole name that it is about, by which it is known whose file that is."""

    name: PurePosixPath
    notice: Notice


def remark(level: Literal["info", "warning"], name: PurePosixPath, text: str) -> Remark:
    """A notice that is safe to print, with *name* as it is."""
    return Remark(name=name, notice=notice(level, name, text))


def notice(level: Literal["info", "warning"], name: PurePosixPath, text: str) -> Notice:
    """A notice that is safe to print, whatever stands in *name* and *text*."""
    return Notice(level=level, path=short(name), text=shown(text, _SAID))


def short(name: PurePosixPath | str) -> str:
    """*name* as it is shown to people."""
    return shown(str(name), _SHOWN)


def storable(text: str) -> str:
    """*text* as UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def is_notebook(name: PurePosixPath) -> bool:
    """Whether it is called one."""
    return name.suffix.casefold() == ".ipynb"


def is_silent(name: PurePosixPath) -> bool:
    """Whether nobody put it there on purpose."""
    return any(part in _SILENT or (part[0] == "." and part != "..") for part in name.parts)


def is_too_long(name: PurePosixPath) -> bool:
    """Whether no person made it."""
    return len(str(name)) > MAX_LENGTH or len(name.parts) > MAX_FOLDERS + 1
