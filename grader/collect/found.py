"""What is found where submissions are, before it is read, and how much is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.collect.names import Remark, is_notebook, is_silent, notice, remark
from grader.errors import SetupError, SubmissionError

MAX_FILES = 200_000
"""That belong to nobody, in one folder or zip."""
MAX_EACH = 10_000
"""Files and folders of one student."""

FIX = "hand in the notebook itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file that is called a notebook."""

    name: PurePosixPath
    """Within the folder or zip."""
    path: str
    """How `read` finds it again."""
    time: float
    """Seconds since 1970."""
    refusal: str | None = None
    """Why it is not read at all."""


Thing = Found | Remark | PurePosixPath
"""A notebook, what is said of something else, or the name of a folder."""


def is_link() -> SubmissionError:
    """The refusal of a link: even one that stays inside would hand in another student's work."""
    return SubmissionError("a symbolic link instead of a notebook", fix=FIX)


def is_no_file() -> SubmissionError:
    """The refusal of a folder, a pipe or a device."""
    return SubmissionError("this is not a file", fix=FIX)


def sentence(error: SubmissionError) -> str:
    """What a student reads of *error*: what is wrong, and what to do."""
    return f"{error.what}; {error.fix}" if error.fix else error.what


def foreign(name: PurePosixPath, *, link: bool = False) -> Remark:
    """What is said of something that is not called a notebook."""
    if link:
        return remark("warning", name, "a symbolic link; not followed")
    return remark("info", name, "not a notebook; ignored")


class Budget:
    """How many files are looked at: so many of every student, so many of nobody's."""

    def __init__(self, root: Path, owner: Callable[[PurePosixPath], str | None]):
        self._root = root
        self._owner = owner
        self._seen: Counter[str | None] = Counter()
        self.left_out: dict[str, str] = {}
        """The students of whom not everything was looked at, and why, as what a student reads."""

    def takes(self, name: PurePosixPath) -> bool:
        """Whether one more file is looked at. Raises SetupError when there is no end of them."""
        whose = self._owner(name)
        self._seen[whose] += 1
        if whose is None and self._seen[whose] > MAX_FILES:
            raise SetupError(
                f"more than {MAX_FILES:,} files that belong to no student",
                where=str(self._root),
                fix="name the folder that holds the submissions and nothing else",
            )
        if whose is None or self._seen[whose] <= MAX_EACH:
            return True
        self.leave_out(name, f"there are more than {MAX_EACH:,} files, and not all are looked at")
        return False

    def leave_out(self, name: PurePosixPath, why: str) -> None:
        """Notes that *name* is not looked at, in which a student's notebook may be."""
        whose = self._owner(name)
        if whose is not None:
            self.left_out.setdefault(whose, why)

    def is_used_up(self, folder: PurePosixPath) -> bool:
        """Whether nothing more in *folder* is looked at."""
        whose = self._owner(folder / "x")
        return whose is not None and self._seen[whose] >= MAX_EACH

    def remarks(self) -> Iterator[Remark]:
        """A warning for every student of whom not everything was looked at."""
        for whose, count in self._seen.items():
            if whose is not None and count > MAX_EACH:
                text = f"'{whose}' has more than {MAX_EACH:,} files; the rest is not looked at"
                said = notice("warning", PurePosixPath(whose), text)
                yield Remark(name=PurePosixPath(whose, "…"), notice=said)  # a name of theirs


def hollow(folders: Iterable[PurePosixPath], files: Iterable[PurePosixPath]) -> Iterator[Remark]:
    """A remark for each folder that is called a notebook and has none in it."""
    called = [name for name in folders if is_notebook(name) and not is_silent(name)]
    if not called:
        return
    holding = {parent for file in files if is_notebook(file) for parent in file.parents}
    for name in called:
        if name not in holding:
            text = "a folder that is called like a notebook, with no notebook in it"
            yield remark("warning", name, text)
