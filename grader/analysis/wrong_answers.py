"""Collects the wrong numbers of a class, with the numbers that each student was given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.analysis.graded_class import WrongNumbers, as_number, read_answer, read_papers
from grader.analysis.mining import Idea, mine
from grader.gradebook import Gradebook
from grader.kinds.numeric import NumericKey
from grader.kinds.table import TableKey
from grader.model import Evidence, Grade, Key, Raw, Verdict
from grader.model.desk import PartId
from grader.release.papers import Papers


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedPart:
    """The wrong ideas about one number that a part asks for."""

    part: PartId
    column: str
    """The column of a table; else empty."""
    student_count: int
    """How many students were asked it."""
    wrong: int
    """How many gave a wrong number that no known mistake explains."""
    ideas: tuple[Idea, ...]

    @property
    def place(self) -> str:
        """The part, and the column of a table."""
        return f"{self.part}, {self.column}" if self.column else str(self.part)

    def as_data(self) -> dict[str, object]:
        """Returns plain data for `--json`."""
        return {
            "problem": self.part.problem,
            "part": self.part.part,
            "column": self.column,
            "asked": self.student_count,
            "wrong": self.wrong,
            "ideas": [
                {
                    "value": idea.expression,
                    "when": idea.when,
                    "students": list(idea.students),
                    "by_chance": idea.by_chance,
                    "false_ideas": idea.false_ideas,
                }
                for idea in self.ideas
            ],
        }

    def mistakes(self) -> list[str]:
        """Returns the YAML of a mistake for each idea, indented as in the problem's file."""
        return [self._format_mistake(n, idea) for n, idea in enumerate(self.ideas, start=1)]

    def _format_mistake(self, number: int, idea: Idea) -> str:
        """Returns the YAML of one idea as a mistake, with a comment on what it explains."""
        indent = " " * (10 if self.column else 6)
        condition = [f"{indent}  when: {json.dumps(idea.when)}"] if idea.when else []
        lines = (
            f"# {self.place}: explains {len(idea.students)} of {self.wrong} wrong answers",
            f"{indent}- id: idea-{number}",
            f"{indent}  value: {json.dumps(idea.expression)}",
            *condition,
            f"{indent}  feedback: TODO",
        )
        return "\n".join(lines)


def mine_results(out: Path, *, fewest: int) -> tuple[MinedPart, ...]:
    """Returns the wrong ideas about each part with numbers, for results in *out*.

    Raises SetupError if the results don't come from a release.
    """
    with Gradebook.open(out) as book:
        return mine_gradebook(book, fewest=fewest)


def mine_gradebook(
    book: Gradebook, *, fewest: int, report: Callable[[int, int], object] | None = None
) -> tuple[MinedPart, ...]:
    """Returns the wrong ideas about each part with numbers.

    Calls *report* with how many numbers have been searched, and how many there are. Raises
    SetupError if the results don't come from a release.
    """
    numbers: dict[tuple[PartId, str], WrongNumbers] = {}
    papers = read_papers(book)
    # A refused file may be another student's, whose answers are for other numbers.
    refused = {(s.student, s.sha256) for s in book.submissions() if s.refusal is not None}
    for grade in book.grades():
        file = grade.student, grade.submission_sha256
        if grade.submission_sha256 is not None and file not in refused:
            evidence = book.find_evidence(grade.submission_sha256)
            if evidence is not None:
                _add_wrong_numbers(numbers, grade, papers, evidence)
    mined: list[MinedPart] = []
    for (part, column), wrong in numbers.items():
        if report is not None:
            report(len(mined), len(numbers))
        mined.append(
            MinedPart(
                part=part,
                column=column,
                student_count=len(wrong.keys),
                wrong=len(wrong.students),
                ideas=mine(wrong, fewest=fewest),
            )
        )
    return tuple(mined)


def _add_wrong_numbers(
    numbers: dict[tuple[PartId, str], WrongNumbers],
    grade: Grade,
    papers: Papers,
    evidence: Evidence,
) -> None:
    """Adds the wrong numbers of one student to *numbers*, by part and column."""
    marks = {mark.name: mark for mark in grade.marks}
    for name, key in papers.of(grade.student).named_keys():
        mark, answer = marks.get(name), evidence.answers.get(name)
        if mark is None:
            continue
        raw = answer.raw if answer is not None else None
        # A wrong number with points was carried from an earlier part.
        carried = isinstance(key, NumericKey) and mark.verdict is not Verdict.INCORRECT
        for column, of_column, value in _iter_numbers(key, raw):
            wrong = numbers.setdefault((PartId(mark.problem, mark.part), column), WrongNumbers())
            wrong.add(grade.student, of_column, None if carried else value)


def _iter_numbers(key: Key, raw: Raw | None) -> Iterator[tuple[str, NumericKey, float | None]]:
    """Yields each number that is asked: the column of a table, the key, and the answer.

    Of a column, yields the first row that is wrong: the rows of one student depend on one another.
    """
    if not isinstance(key, (NumericKey, TableKey)):
        return
    answer = read_answer(raw, key)
    if isinstance(key, NumericKey):
        yield "", key, as_number(answer)
        return
    for index, column in enumerate(key.part.columns):
        cells = [row[index] for row in key.cells]
        answers = [as_number(row[index]) for row in answer] if isinstance(answer, tuple) else []
        pairs = list(zip(cells, answers, strict=False))
        wrong = [(c, a) for c, a in pairs if a is not None and not c.low <= a <= c.high]
        cell, value = wrong[0] if wrong else (cells[0], None)
        yield column.id, cell, value
