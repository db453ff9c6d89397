"""Finds students whose wrong numbers are answers to another student's variant.

That is a question to look into and never a verdict; there are many innocent reasons. See
`docs/explanation/statistics.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from grader import units
from grader.analysis.answer_matches import (
    Meaning,
    ProblemMatches,
    ProblemSheets,
    SheetEntry,
    find_matches,
    largest_by_chance,
    pair_scores,
)
from grader.analysis.comparisons import names_that_matter, parameter_levels
from grader.analysis.graded_class import (
    GradedPaper,
    as_number,
    iter_graded,
    read_answer,
    read_papers,
)
from grader.draw import draw, seed_for
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.course_policy import compares_answers
from grader.grading.sources import evidence_of
from grader.kinds.numeric import NumericKey, judge
from grader.kinds.table import TableKey
from grader.model import Evidence, Key, Mark, Question, Release, Verdict
from grader.model.desk import PartId

VARIANTS = 1000
"""How many variants of each problem show what an answer fits by chance."""
MOST_CHANCE = 0.01
"""The largest probability, for the whole class, at which a pair is listed."""
REASONS = (
    "There are innocent reasons: students who looked at an example together, a sheet that a study "
    "group shared, or a notebook that was opened or handed in by mistake. Look at the answers and "
    "the notebooks, and ask the students, before you conclude anything."
)
"""What to read with every list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedAnswer:
    """A wrong answer that fits another student's variant."""

    part: PartId
    cell: str
    """The cell of a table; else empty."""
    student: str
    """Who gave the wrong answer."""
    other: str
    """Whose variant it fits."""
    answer: float
    right: float
    """The right answer for the student."""
    unit: str
    answer_of_other: float
    meaning: Meaning
    """What it is for the other."""
    chance: float
    """The share of variants that this student's answers to the problem fit as well."""

    def format_number(self, number: float) -> str:
        """Returns *number* with the unit of the answers."""
        return units.format_with_unit(number, self.unit, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPair:
    """Two students with answers to each other's numbers, or to one's."""

    students: tuple[str, str]
    score: float
    chance: float
    """The probability that any pair of an honest class has a score this high."""
    answers: tuple[MatchedAnswer, ...]


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """Students who are connected by pairs."""

    students: tuple[str, ...]
    pairs: tuple[SharedPair, ...]

    @property
    def chance(self) -> float:
        """The probability of its clearest pair."""
        return min(pair.chance for pair in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAnswers:
    """All groups of a class, the clearest first."""

    students: int
    wrong: int
    """How many wrong numbers were compared."""
    pairs: int
    """How many pairs of students with different numbers were compared."""
    groups: tuple[SharedGroup, ...]


@dataclass(slots=True)
class _Class:
    ids: list[str] = field(default_factory=list)
    seats: list[str] = field(default_factory=list)
    sheets: dict[str, ProblemSheets] = field(default_factory=dict)
    unit_of: dict[tuple[str, str], str] = field(default_factory=dict)
    """The unit of each number, by problem and name of the number."""

    def add(self, graded: GradedPaper, evidence: Evidence) -> None:
        """Adds the answers of a student's paper, by problem."""
        index = len(self.ids)
        self.ids.append(graded.row.student.id)
        self.seats.append(graded.seat)
        marks = {mark.name: mark for mark in graded.row.marks}
        for question in graded.paper.questions:
            problem = question.variant.problem
            sheets = self.sheets.setdefault(problem.id, ProblemSheets())
            sheets.students.append(index)
            sheets.seats.append(graded.seat)
            sheets.parameters.append({n: level.label for n, level in parameter_levels(question)})
            for part_id, cell, key, answer in _iter_numbers(question, marks, evidence):
                name = f"{part_id}\n{cell}"
                if name not in sheets.entries:
                    sheets.entries[name] = [None] * (len(sheets.students) - 1)
                    sheets.matters[name] = names_that_matter(problem, question.keys[part_id].part)
                    self.unit_of[problem.id, name] = key.unit
                mark = marks.get(question.name(part_id))
                sheets.entries[name].append(_sheet_entry(key, answer, mark))
            for entries in sheets.entries.values():
                entries.extend([None] * (len(sheets.students) - len(entries)))

    def add_unused(self, release: Release) -> None:
        """Adds variants that no student was given, up to VARIANTS of each problem."""
        for id_, sheets in self.sheets.items():
            problem = release.problems[id_]
            for number in range(VARIANTS - len(sheets.students)):
                # No student's id begins with a slash.
                seed = seed_for(release.private_key, f"/unused/{number}", id_)
                keys = draw(problem, seed, release.facts).keys
                for part_id, key in keys.items():
                    for cell, of_cell in _number_keys(key):
                        name = f"{part_id}\n{cell}"
                        if name in sheets.entries:
                            entry = _sheet_entry(of_cell, None, None)
                            sheets.spare_sheets.setdefault(name, []).append(entry)


def find_shared_answers(out: Path) -> SharedAnswers:
    """Returns the groups of students in *out* whose answers fit another student's numbers.

    Raises SetupError if the course doesn't turn this on, or if there is no release.
    """
    graded_class = _Class()
    with Gradebook.open(out) as book:
        papers = read_papers(book)
        if not compares_answers(book, papers.counts.exam.id):
            raise SetupError(
                "the course doesn't compare answers between students",
                where=str(out),
                fix="to turn it on, write 'shared_answers: true' in course.yaml, and run `grader "
                "score RESULTS --course course.yaml`",
            )
        for graded in iter_graded(book, papers):
            evidence = evidence_of(book, graded.row)
            if evidence is not None:
                graded_class.add(graded, evidence)
    graded_class.add_unused(papers.counts)
    return _compare_class(graded_class)


def _iter_numbers(
    question: Question, marks: Mapping[str, Mark], evidence: Evidence
) -> Iterator[tuple[str, str, NumericKey, float | None]]:
    """Yields each number that is asked: part, cell, key, and the answer if it can be read."""
    for part_id, key in question.keys.items():
        name = question.name(part_id)
        given = evidence.answers.get(name)
        answer = read_answer(given.raw if given and name in marks else None, key)
        if not isinstance(key, TableKey):
            rows: Iterable[Iterable[object]] = ()  # a tuple may be True or False with its reason
        else:
            rows = answer if isinstance(answer, tuple) else ()
        cells = [cell for row in rows for cell in row]
        for index, (cell, of_cell) in enumerate(_number_keys(key)):
            in_cell = cells[index] if cells else None
            yield part_id, cell, of_cell, as_number(in_cell if cell else answer)


def _number_keys(key: Key) -> Iterator[tuple[str, NumericKey]]:
    """Yields the key of each number that a part asks for, with its cell in a table."""
    if isinstance(key, NumericKey):
        yield "", key
    elif isinstance(key, TableKey):
        for i, row in enumerate(key.cells, start=1):
            for j, cell in enumerate(row, start=1):
                yield f"row {i}, column {j}", cell


def _sheet_entry(key: NumericKey, answer: float | None, mark: Mark | None) -> SheetEntry:
    """Returns the student's key and answer for one number, with the answer's verdict."""
    judged = None if answer is None else judge(answer, key)
    # A mark with points is carried forward, or was changed by a person.
    earned = mark is not None and mark.kind != "table" and bool(mark.points)
    return SheetEntry(
        key=float(key.value),
        low=float(key.low),
        high=float(key.high),
        mistakes={mistake.id: float(value) for mistake, value, _, _ in key.mistake_ranges},
        answer=answer,
        right=judged is not None and judged.verdict is Verdict.CORRECT,
        mistake=judged.mistake if judged else None,
        wrong=judged is not None and judged.verdict is Verdict.INCORRECT and not earned,
    )


def _compare_class(graded: _Class) -> SharedAnswers:
    """Returns the groups of students whose matches are unlikely to be due to chance."""
    matches = {id_: find_matches(sheets) for id_, sheets in graded.sheets.items()}
    scores = pair_scores(list(matches.values()), len(graded.ids))
    chances = _estimate_chances(scores, list(matches.values()), graded)
    pairs = [
        SharedPair(
            students=(graded.ids[first], graded.ids[second]),
            score=scores[first, second],
            chance=chance,
            answers=tuple(_iter_matched_answers(graded, matches, first, second)),
        )
        for (first, second), chance in chances.items()
        if chance <= MOST_CHANCE
    ]
    count = len(graded.ids)
    shared = sum(n * (n - 1) // 2 for n in (graded.seats.count(s) for s in set(graded.seats)))
    entries = [e for s in graded.sheets.values() for every in s.entries.values() for e in every]
    return SharedAnswers(
        students=count,
        wrong=sum(entry is not None and entry.wrong for entry in entries),
        pairs=count * (count - 1) // 2 - shared,
        groups=_group_pairs(pairs),
    )


def _estimate_chances(
    scores: Mapping[tuple[int, int], float], matches: Sequence[ProblemMatches], graded: _Class
) -> dict[tuple[int, int], float]:
    """Returns how likely any pair of an honest class is to have each score, by permutation."""
    if not scores:
        return {}
    largest = np.sort(largest_by_chance(matches, graded.seats, _shares_of_right(graded)))
    reached = {
        pair: len(largest) - int(np.searchsorted(largest, score * (1 - 1e-9)))
        for pair, score in scores.items()
    }
    return {pair: (count + 1) / (len(largest) + 1) for pair, count in reached.items()}


def _shares_of_right(graded: _Class) -> list[float]:
    """Returns the share of right numbers of each student."""
    right, asked = [0] * len(graded.ids), [1] * len(graded.ids)
    for sheets in graded.sheets.values():
        for entries in sheets.entries.values():
            for student, entry in zip(sheets.students, entries, strict=True):
                if entry is not None:
                    right[student] += entry.right
                    asked[student] += 1
    return [count / total for count, total in zip(right, asked, strict=True)]


def _iter_matched_answers(
    graded: _Class, matches: Mapping[str, ProblemMatches], first: int, second: int
) -> Iterator[MatchedAnswer]:
    """Yields the answers of two students that match, in both directions."""
    for problem, of_problem in matches.items():
        sheets = graded.sheets[problem]
        for student, owner in ((first, second), (second, first)):
            if student not in sheets.students or owner not in sheets.students:
                continue
            row, column = sheets.students.index(student), sheets.students.index(owner)
            if not of_problem.weights[row, column]:
                continue
            for name, meaning in of_problem.answers[row, column]:
                own, other = sheets.entries[name][row], sheets.entries[name][column]
                if own is None or own.answer is None or other is None or other.answer is None:
                    continue
                part, cell = name.split("\n")
                yield MatchedAnswer(
                    part=PartId(problem, part),
                    cell=cell,
                    student=graded.ids[student],
                    other=graded.ids[owner],
                    answer=own.answer,
                    right=own.key,
                    unit=graded.unit_of[problem, name],
                    answer_of_other=other.answer,
                    meaning=meaning,
                    chance=float(of_problem.chances[row, column]),
                )


def _group_pairs(pairs: Sequence[SharedPair]) -> tuple[SharedGroup, ...]:
    """Returns the connected components of *pairs*, the clearest first."""
    group_of: dict[str, set[str]] = {}
    for pair in pairs:
        joint = set().union(*(group_of.get(student, {student}) for student in pair.students))
        group_of.update(dict.fromkeys(joint, joint))
    groups = {tuple(sorted(group)) for group in group_of.values()}
    order = sorted(pairs, key=lambda pair: (pair.chance, -pair.score, pair.students))
    shared_groups = [
        SharedGroup(students, tuple(p for p in order if p.students[0] in students))
        for students in groups
    ]
    return tuple(sorted(shared_groups, key=lambda g: (g.chance, -g.pairs[0].score, g.students)))
