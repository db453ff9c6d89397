"""Notebooks that can't be the student's: the sample for practice, or another version's.

What a notebook says of itself decides over no point. It only tells what would otherwise be graded
by numbers that are not in it: a student who changes these words gets their own version's key.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from grader.collect import BEST
from grader.errors import SubmissionError
from grader.model import SAMPLE, Release, Student
from grader.notebook import Notebook
from grader.notebook.self_description import About, whose
from grader.release.versions import versions_of

_OWN = "hand in the notebook that you were given"


def looks_after(release: Release) -> Callable[[str, Notebook], str | None]:
    """What is asked of every notebook that was handed in, with the student that it came from.

    It raises SubmissionError for one that can't be that student's, and returns a sentence for the
    instructor where one only may be somebody else's.
    """

    versions = frozenset(versions_of(release))

    def look(student: str, notebook: Notebook) -> str | None:
        return _look(release, versions, release.students[student], whose(notebook))

    return look


def fits_in(release: Release) -> Callable[[str, Notebook], int]:
    """How well a notebook fits *release*, asked where a student handed in several.

    Best is one that says it is the student's own, or says nothing and has answers of the exam;
    then one that says it is another student's; last one of another exam, or of none.
    """
    parts = {part.id for problem in release.problems.values() for part in problem.parts}
    answer = re.compile(rf"\bq\d{{1,4}}_(?:{'|'.join(map(re.escape, sorted(parts)))})\b")

    def fit(student: str, notebook: Notebook) -> int:
        says = whose(notebook)
        if says.release:
            seat = says.version or says.student
            own = seat in ("", release.students[student].seat)
            return (BEST if own else 1) if says.release == release.id else 0
        code = (cell.source for cell in notebook.cells if cell.type == "code")
        return BEST if any(map(answer.search, code)) else 0

    return fit


def _look(release: Release, versions: frozenset[str], student: Student, says: About) -> str | None:
    if says.version == SAMPLE:
        raise SubmissionError("this is the sample for practice, which is not graded", fix=_OWN)
    if says.release not in ("", release.id):
        return None  # of another release; versions of the same name mean nothing then
    seat = says.version or says.student
    if not seat or seat == student.seat:
        return None
    if not says.version and not student.version:
        # Its answers are judged by the student's own numbers, as they always were.
        known = seat in release.students
        told = f"the file identifies itself as the notebook of '{seat}'; it is graded with the"
        return f"{told} numbers of '{student.id}'" if known else None
    its = "with numbers for one student alone"
    if says.version:  # repeated only where it is no text of the student's
        its = f"of version {says.version}" if says.version in versions else "of another version"
    own = f"version {student.version}" if student.version else "one with numbers of your own"
    raise SubmissionError(f"this is the notebook {its}, and yours is {own}; not graded", fix=_OWN)
