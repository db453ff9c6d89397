"""A practice session: what is chosen, asked, and answered, in memory only unless saved."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.bank.folders import Bank
from grader.bank.heads import Head
from grader.errors import SetupError
from grader.web.practice.question import MarkedQuestion, PracticeQuestion, ask, criteria, mark
from grader.web.practice.selection import Selection, select
from grader.web.practice.spacing import Progress, next_problem, save_progress
from grader.web.safety import FormFields

_VARIANTS = 1_000_000


@dataclass(slots=True, kw_only=True)
class Practice:
    """The state of one student's practice; the application changes it under a lock."""

    bank: Bank
    heads: Sequence[Head]
    """All problems of the bank."""
    file: Path
    """Where progress is saved, once the student asks for it."""
    saving: bool = False
    progress: Progress = field(default_factory=Progress)
    sandbox: str = "auto"
    dice: random.Random = field(default_factory=random.SystemRandom)
    selection: Selection = field(default_factory=Selection)
    pool: tuple[Head, ...] = ()
    minutes_spent: float = 0.0
    """Minutes of the questions answered since the start, as the bank states them."""
    question: PracticeQuestion | None = None
    fields: FormFields = field(default_factory=FormFields)
    problems_with: dict[str, str] = field(default_factory=dict)
    """Why answers could not be read, by name."""
    result: MarkedQuestion | None = None
    """The marks of the question; None until it is answered."""
    _before: Progress = field(default_factory=Progress)

    @property
    def number(self) -> int:
        """The number of the variant on the page; forms of another one are refused."""
        return self.question.preview.seed if self.question else -1

    @property
    def over(self) -> bool:
        """Whether the chosen time is used up."""
        return 0 < self.selection.minutes <= self.minutes_spent

    def start(self, selection: Selection) -> None:
        """Starts with other problems. Raises SetupError if none match."""
        self.pool = select(self.bank, self.heads, selection)
        self.selection, self.minutes_spent = selection, 0.0
        self.next()

    def next(self) -> None:
        """Draws the next question, and clears the answers to the last one."""
        last = self.question.head.id if self.question else ""
        head = next_problem(self.pool, self.progress, last, self.dice)
        self.question = ask(self.bank, head, self.dice.randrange(_VARIANTS))
        self.fields, self.problems_with, self.result = FormFields(), {}, None

    def answer(self, fields: FormFields, *, give_up: bool) -> None:
        """Marks the answers.

        Unless the student gives up, nothing is marked while an answer is blank, not complete, or
        can't be read.
        """
        if self.question is None or self.result is not None:
            raise SetupError("this question is already answered", fix="go to the next question")
        self.fields = fields
        marked = mark(self.question, fields, self.sandbox)
        self.problems_with = dict(marked.to_correct)
        if self.problems_with and not give_up:
            return
        self.result, self._before = marked, self.progress
        self.minutes_spent += self.question.head.minutes
        self._record_result()

    def tick(self, name: str, ticked: Sequence[str]) -> None:
        """Gives the points of the ticked criteria to the explanation *name*."""
        if self.question is None or self.result is None or name not in self.result.marks:
            raise SetupError("there is no such answer on the page", fix="reload the page")
        rubric = criteria(self.question.keys[name], self.result.marks[name].max_points)
        if not rubric:
            raise SetupError("only explanations have a rubric to tick", fix="reload the page")
        points = sum(criterion.points for n, criterion in enumerate(rubric) if str(n) in ticked)
        self.result = self.result.with_points(name, points)
        self._record_result()

    def save(self) -> None:
        """Saves the progress from now on. Raises SetupError rather than replace another file."""
        if not self.saving and self.file.exists():
            raise SetupError(
                f"the file {self.file} already exists",
                fix=f"to continue with it, run `grader practice --progress {self.file}`",
            )
        save_progress(self.file, self.progress)
        self.saving = True

    def _record_result(self) -> None:
        """Updates the progress by the share of points, and saves it if the student wants that."""
        if self.question is None or self.result is None or self.result.share is None:
            return
        self.progress = self._before.record(self.question.head.id, self.result.share)
        if self.saving:
            save_progress(self.file, self.progress)
