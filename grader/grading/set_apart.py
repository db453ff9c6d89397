"""Notebooks that killed every worker that ran them: later runs skip them until asked."""

from __future__ import annotations

from grader.gradebook import Gradebook
from grader.grading.batch import SET_APART
from grader.model import Evidence, Submission
from grader.text.words import count_of, join_names

_NAMED = 5


class SetApart:
    """The notebooks of a gradebook that are set apart, by student."""

    def __init__(self, book: Gradebook):
        self._book = book
        stored = book.setting(SET_APART)
        self._files: dict[str, str] = dict(stored) if isinstance(stored, dict) else {}
        self._skipped: list[str] = []

    def skip_if_set_apart(self, submission: Submission) -> bool:
        """Returns whether *submission* is set apart, and if so, remembers that the run skips it."""
        is_set_apart = self._files.get(submission.student) == submission.sha256
        if is_set_apart:
            self._skipped.append(submission.student)
        return is_set_apart

    def update(self, submission: Submission, evidence: Evidence) -> None:
        """Sets *submission* apart if its new *evidence* says so, and otherwise no longer."""
        before = dict(self._files)
        if evidence.environment.get(SET_APART):
            self._files[submission.student] = submission.sha256
        elif self._files.get(submission.student) == submission.sha256:
            del self._files[submission.student]
        if self._files != before:
            self._book.set_setting(
                SET_APART, self._files, why="every worker that ran the notebook died"
            )

    def note(self) -> str:
        """Returns a sentence about the notebooks that were skipped, or an empty text if there are
        none."""
        if not self._skipped:
            return ""
        listed = join_names(self._skipped, _NAMED)
        are = count_of(len(self._skipped), "notebook is", "notebooks are")
        return (
            f"{are} set apart, because every worker that ran it died: {listed}. The marks stay "
            "open, and no points are deducted. Look at the notebook; to execute it again, add "
            f"--student {self._skipped[0]} --again"
        )
