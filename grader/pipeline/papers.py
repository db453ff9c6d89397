"""Which paper a student is graded by: as released, or by specs that were corrected since."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.draw import paper
from grader.errors import SetupError
from grader.files import write_whole
from grader.gradebook import Gradebook
from grader.load import Bank, load_release, new_release, release_bytes
from grader.model import Paper, Release
from grader.registry import nearest
from grader.render import named_keys

# What the gradebook keeps of the release its results belong to.
RELEASE, SOURCE, CORRECTED = "release", "release_file", "corrected_release"
CORRECTED_FILE = "corrected-release.json"
MOST_KEPT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """The papers of a release, by the specs that count."""

    release: Release
    corrected: Release | None = None
    _drawn: dict[str, Paper] = field(default_factory=dict, repr=False, compare=False)
    """The last few papers: a student's is wanted several times within a short while."""

    def of(self, student: str) -> Paper:
        """The paper of *student*; with corrected specs, on the numbers the student was given.

        Raises SetupError for a student who is not in the release, and when letters that students
        wrote would come to mean something else.
        """
        if student not in self.release.students:
            close = nearest(student, self.release.students)
            raise SetupError(
                f"the release has no student '{student}'",
                fix=f"did you mean '{close}'?" if close else "render again with a roster that has",
            )
        if student not in self._drawn:
            given = paper(self.release, self.release.students[student])
            drawn = given if self.corrected is None else _corrected(given, self.corrected)
            if len(self._drawn) >= MOST_KEPT:
                del self._drawn[next(iter(self._drawn))]
            self._drawn[student] = drawn
        return self._drawn[student]

    @property
    def exam_release(self) -> Release:
        """The release whose specs count."""
        return self.corrected or self.release


def _corrected(given: Paper, current: Release) -> Paper:
    corrected = paper(current, given.student, given)
    old = dict(named_keys(given))
    for name, key in named_keys(corrected):
        before = len(getattr(old.get(name, key).part, "options", ()))
        if len(getattr(key.part, "options", ())) != before:
            raise SetupError(
                f"the corrected spec has another number of options for '{name}', so the letters "
                "in the notebooks would mean other options",
                fix="keep the options as they were handed out; change only which are correct",
            )
    return corrected


def current_specs(release: Release, bank: Bank) -> Release:
    """The release with every spec as *bank* has it now."""
    fresh = new_release(bank, release.exam, tuple(release.students.values()), release.private_key)
    return replace(fresh, students=release.students)


def bind(book: Gradebook, release: Release, file: Path) -> None:
    """Ties a results folder to its release; raises SetupError when it belongs to another."""
    bound = book.setting(RELEASE)
    if bound is not None and bound != release.id:
        raise SetupError(
            f"these results belong to release {bound}, not to {release.id}",
            where=str(book.folder),
            fix="name the release they belong to, or choose another folder for --out",
        )
    file = file / "release.json" if file.is_dir() else file
    # Relative where possible, so that a course's folder can be moved as a whole.
    source = os.path.relpath(file.resolve(), book.folder.resolve())
    if bound is None or book.setting(SOURCE) != source:
        book.set_setting(RELEASE, release.id)
        book.set_setting(SOURCE, source)


def papers_of(book: Gradebook) -> Papers:
    """The papers that the results in *book* are graded by."""
    source = book.setting(SOURCE)
    if not isinstance(source, str):
        raise SetupError(
            "these results name no release", where=str(book.folder), fix="run `grader grade` first"
        )
    release = load_release((book.folder / source).resolve())
    return Papers(release=release, corrected=_stored(book, release))


def _stored(book: Gradebook, release: Release) -> Release | None:
    if not book.setting(CORRECTED):
        return None
    # Students may have been added to the release since the correction.
    return replace(load_release(book.folder / CORRECTED_FILE), students=release.students)


def keep_correction(book: Gradebook, corrected: Release | None, why: str) -> None:
    """Makes *corrected* what counts from now on; None goes back to the specs as released."""
    if corrected is not None:
        write_whole(book.folder / CORRECTED_FILE, release_bytes(corrected), durable=True)
    value = corrected.id if corrected else None
    if book.setting(CORRECTED) != value:
        book.set_setting(CORRECTED, value, why=why)
