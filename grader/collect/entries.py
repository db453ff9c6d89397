"""Files found among submissions, before they are read: notices on them, and limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from grader.errors import SetupError, SubmissionError, one_line

MAX_FILES = 200_000
"""Maximum number of files in a folder or zip that belong to no student."""
MAX_EACH = 10_000
"""Maximum number of files and folders of one student."""

MAX_LENGTH = 1_000
"""Maximum characters of a path within a folder or zip."""
MAX_FOLDERS = 40
"""Maximum nesting depth of folders."""
_SHOWN = 160
_SAID = 400
_SILENT = {".ipynb_checkpoints", "__MACOSX", "Thumbs.db", "desktop.ini", "times.csv"}

FIX = "hand in the notebook itself"
_ARCHIVES = (".zip", ".gz", ".tgz", ".tar", ".7z", ".rar")
_DOCUMENTS = (".doc", ".docx", ".htm", ".html", ".odt", ".pages", ".pdf", ".rtf")


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
    file: str = ""
    """The path of the submission that it is about; empty if it is about no submission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A notice with the full path of its file, which determines whose file it is."""

    name: PurePosixPath
    notice: Notice
    work: NotebookFile | None = None
    """The file as a submission that can't be read, if a student may have handed it in instead of a
    notebook; used if there is no notebook."""


def make_remark(level: Literal["info", "warning"], name: PurePosixPath, text: str) -> Remark:
    """Returns a remark with a notice that is safe to print, and the unchanged *name*."""
    return Remark(name=name, notice=make_notice(level, name, text))


def make_notice(
    level: Literal["info", "warning"], name: PurePosixPath, text: str, file: str = ""
) -> Notice:
    """Returns a notice that is safe to print, whatever *name* and *text* contain.

    *file* is the unchanged path of the submission that it is about, if it is about one.
    """
    return Notice(level=level, path=display_name(name), text=one_line(text, _SAID), file=file)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookFile:
    """A file with the extension of a notebook."""

    name: PurePosixPath
    """Path within the folder or zip."""
    path: str
    """Path that `read` takes."""
    time: float
    """Modification time, in seconds since 1970; minus infinity if it must not count."""
    refusal: str | None = None
    """Reason not to read it; None if it may be read."""


Entry = NotebookFile | Remark
"""A notebook, or a remark about another file."""


def link_error() -> SubmissionError:
    """Returns the error for a link, which could hand in another student's work."""
    return SubmissionError("a symbolic link instead of a notebook", fix=FIX)


def file_type_error() -> SubmissionError:
    """Returns the error for a folder, a pipe or a device."""
    return SubmissionError("this is not a regular file", fix=FIX)


def error_sentence(error: SubmissionError) -> str:
    """Returns the error's message and fix as one sentence for the student."""
    return f"{error.what}; {error.fix}" if error.fix else error.what


def ignored_file_remark(name: PurePosixPath, path: str) -> Remark:
    """Returns the remark about a file without the extension of a notebook, at *path*."""
    suffix = name.suffix.lower()
    work = None
    if (
        suffix in (*_ARCHIVES, *_DOCUMENTS)
        or is_notebook(name.with_suffix(""))
        or not name.parts[1:]
    ):
        how = (
            f"ends in '{display_name(suffix)}' instead of '.ipynb'"
            if suffix
            else "has no extension"
        )
        refusal = f"the file {how}; {FIX}"
        # Without a time, so that a notebook that is extracted from it later counts instead.
        work = NotebookFile(name=name, path=path, time=-math.inf, refusal=refusal)
    if suffix in _ARCHIVES:
        remark = make_remark("warning", name, "an archive, not opened; extract it where it is")
    else:
        remark = make_remark("info", name, "ignored: not a notebook")
    return replace(remark, work=work)


class FileQuota:
    """Limits how many files are examined, per student and for unknown owners."""

    def __init__(self, root: Path, owner: Callable[[PurePosixPath], str | None]):
        self._root = root
        self._owner = owner
        self._seen: Counter[str | None] = Counter()
        self.left_out: dict[str, str] = {}
        """Why not all files of a student were examined, by student; shown to the student."""

    def admit(self, name: PurePosixPath) -> bool:
        """Counts *name*, and returns whether to examine it. Raises SetupError beyond MAX_FILES."""
        whose = self._owner(name)
        self._seen[whose] += 1
        if whose is None and self._seen[whose] > MAX_FILES:
            raise SetupError(
                f"more than {MAX_FILES:,} files that belong to no student",
                where=str(self._root),
                fix="give a folder that contains only the submissions",
            )
        if whose is None or self._seen[whose] <= MAX_EACH:
            return True
        self.record_unexamined(
            name, f"there are more than {MAX_EACH:,} files; not all were examined"
        )
        return False

    def record_unexamined(self, name: PurePosixPath, why: str) -> None:
        """Records that *name*, which may contain a student's notebook, was not examined."""
        whose = self._owner(name)
        if whose is not None:
            self.left_out.setdefault(whose, why)

    def is_used_up(self, folder: PurePosixPath) -> bool:
        """Returns whether the limit of the student whose folder this is has been reached."""
        whose = self._owner(folder / "x")
        return whose is not None and self._seen[whose] >= MAX_EACH

    def overflow_remarks(self) -> Iterator[Remark]:
        """Yields a warning for every student whose files were not all examined."""
        for whose, count in self._seen.items():
            if whose is not None and count > MAX_EACH:
                text = f"'{whose}' has more than {MAX_EACH:,} files; the rest is ignored"
                warning = make_notice("warning", PurePosixPath(whose), text)
                # A name in the student's folder, so that the remark belongs to the student.
                yield Remark(name=PurePosixPath(whose, "…"), notice=warning)
