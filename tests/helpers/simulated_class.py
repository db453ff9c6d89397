"""A graded class made by a script: students with an ability, and answers without notebooks."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from grader.bank.folders import Bank
from grader.gradebook import Gradebook
from grader.grading.course_policy import store_course
from grader.grading.score import score
from grader.kinds import kinds
from grader.kinds.numeric import NumericKey, mistake_value
from grader.model import Answer, Evidence, Key, Outcome, Paper, Student, Submission
from grader.model.course import Course
from grader.release.file import new_release, release_bytes
from grader.release.papers import Papers, bind
from grader.wire.encoding import encode_answer
from tests.helpers.banks import a_bank

Numbers = Mapping[str, Any]
Idea = Callable[[float, Numbers], float]

COMMON: tuple[Idea, ...] = (
    lambda key, _: key * 2,
    lambda key, _: key / 2,
    lambda key, _: key * 3,
    lambda key, given: key * _count(given),
    lambda key, given: key / _count(given),
    lambda key, _: key * 1.5,
    lambda key, given: key * (1 + 1 / _count(given)),
)
"""Wrong ideas that many students of a simulated class have."""


def _count(given: Numbers) -> float:
    counts = [v for v in given.values() if isinstance(v, int) and not isinstance(v, bool) and v > 1]
    return float(counts[0]) if counts else 4.0


@dataclass
class SimulatedStudent:
    """A student, and the answers that they gave."""

    id: str
    ability: float
    paper: Paper
    answers: dict[str, Any] = field(default_factory=dict)


@dataclass
class SimulatedClass:
    """A class before it is graded; a test changes answers in between."""

    papers: Papers
    students: dict[str, SimulatedStudent]

    def write(self, out: Path, *, shared_answers: bool = False) -> Path:
        """Writes the release and the results, as the commands would; returns the results."""
        release = self.papers.release
        out.mkdir(parents=True)
        (out / "release.json").write_bytes(release_bytes(release))
        results = out / "results"
        results.mkdir()
        with Gradebook.open(results, create=True) as book:
            bind(book, release, out / "release.json")
            book.add_students(release.students.values())
            book.add_submissions(
                Submission(student=id_, path=f"{id_}.ipynb", sha256=_file_of(id_))
                for id_ in self.students
            )
            grades = []
            for student in self.students.values():
                found = evidence_of(student)
                book.put_evidence(found, "simulated")
                grades.append(score(student.paper, found))
            book.put_grades(grades, why="simulated")
            if shared_answers:
                store_course(book, Course(id="course", shared_answers=True), {})
        return results


def refuse_file(results: Path, id_: str) -> None:
    """Marks the file of a student as one that can't be graded, such as another student's."""
    refused = Submission(
        student=id_, path=f"{id_}.ipynb", sha256=_file_of(id_), refusal="not your notebook"
    )
    with Gradebook.open(results) as book:
        book.add_submissions([refused])


def _file_of(id_: str) -> str:
    return id_.encode().hex().rjust(64, "0")


def evidence_of(student: SimulatedStudent) -> Evidence:
    return Evidence(
        submission_sha256=_file_of(student.id),
        outcome=Outcome.FINISHED,
        answers={n: Answer(name=n, raw=encode_answer(v)) for n, v in student.answers.items()},
        cells=(),
        seconds=1.0,
    )


def a_class(
    exam: str,
    count: int,
    seed: int,
    *,
    banks: tuple[str, ...] = (),
    versions: int = 0,
    harder: Callable[[str, Key], float] = lambda name, key: 0.0,
) -> SimulatedClass:
    """A class with individual numbers, or with shared *versions*.

    *harder* returns the share of right answers to a part that its numbers turn into wrong ones.
    """
    draw = random.Random(seed)
    bank = Bank.open(banks)
    roster = tuple(
        Student(id=f"s{n:03}", version="ABCDEFGH"[n % versions] if versions else "")
        for n in range(count)
    )
    papers = Papers(release=new_release(bank, bank.exam(exam), roster, b"%032d" % seed))
    difficulty: dict[str, float] = {}
    students = {}
    for one in roster:
        mine = SimulatedStudent(one.id, draw.gauss(0.8, 1.2), papers.of(one.id))
        for name, key in mine.paper.named_keys():
            hard = difficulty.setdefault(name, draw.gauss(0, 0.8))
            chance = (1 - harder(name, key)) / (1 + math.exp(hard - mine.ability))
            answer = right_answer(key) if draw.random() < chance else wrong_answer(key, draw)
            if answer is not None:
                mine.answers[name] = rounded(answer, draw) if is_number(key) else answer
        students[one.id] = mine
    return SimulatedClass(papers, students)


def is_number(key: Key) -> TypeGuard[NumericKey]:
    return isinstance(key, NumericKey)


def number_keys(paper: Paper) -> dict[str, NumericKey]:
    """The keys of a paper's numbers, by name."""
    return {name: key for name, key in paper.named_keys() if is_number(key)}


def right_answer(key: Key) -> Any:
    return kinds.find(key.part.kind).answer(key)


def rounded(value: float, draw: random.Random) -> float:
    """A number as students write it: as computed, or to four or five digits."""
    if isinstance(value, int) or draw.random() < 0.4:
        return value
    return float(f"{value:.{draw.choice([4, 5])}g}")


def wrong_answer(key: Key, draw: random.Random) -> Any:
    """A declared mistake, a common wrong idea, any number, or nothing."""
    if not isinstance(key, NumericKey):
        return _wrong_letter(key, draw)
    kind = draw.random()
    if kind < 0.1:
        return None
    declared = list(_declared(key))
    if kind < 0.4 and declared:
        return draw.choice(declared)
    if kind < 0.8:
        idea = draw.choice(COMMON[: 4 + hash_of(key.part.id) % 4])
        return float(idea(float(key.value), key.draw.parameters))
    return float(key.value) * 10 ** draw.uniform(-1.5, 1.5)


def hash_of(text: str) -> int:
    return sum(text.encode())


def _declared(key: NumericKey) -> Iterator[float]:
    for mistake in key.part.mistakes:
        value = mistake_value(mistake, key)
        if value is not None:
            yield value


def _wrong_letter(key: Key, draw: random.Random) -> Any:
    right = kinds.find(key.part.kind).answer(key)
    if isinstance(right, bool):
        return not right
    choices = [one.letter for one in getattr(key, "choices", ())]
    return draw.choice([c for c in choices if c != right]) if isinstance(right, str) else None


SPEC = """\
id: {id}
title: Time of a transfer
family: memory-math
parameters:
  size: {{real: [2, 90], step: 0.1, label: Size in MB}}
  rate: {{real: [1.1, 9.7], step: 0.1, label: Rate in MB per second}}
  link: {{choice: [bus, cable, disk, radio, wire]}}
values:
  seconds: size / rate
prompt: A file of {{{{ size }}}} MB is sent over a {{{{ link }}}} with {{{{ rate }}}} MB per second.
parts:
  - id: time
    kind: numeric
    ask: How many seconds does the {{{{ link }}}} take?
    points: 4
    unit: s
    answer: seconds * s
    mistakes:
      - {{id: inverse, value: s / seconds, feedback: That is the inverse.}}
  - id: way
    kind: choice
    ask: What limits it?
    options:
      - {{id: rate, text: the rate, correct: true}}
      - {{id: delay, text: the delay}}
explanation: It takes {{{{ time | unit("s") }}}}.
"""
SOLUTION = '''\
"""Sends the file in pieces."""


def solve(given):
    return {"time": sum(given["size"] / 100 / given["rate"] for _ in range(100)), "way": "rate"}
'''


def a_bank_of_transfers(folder: Path, problems: int = 8) -> Path:
    """A bank whose set `quiz` has problems with many different variants."""
    ids = [f"transfer-{number}" for number in range(1, problems + 1)]
    exam = "id: quiz\ntitle: A quiz\nproblems:\n" + "".join(f"  - {id_}\n" for id_ in ids)
    for id_ in ids:
        a_bank(folder, SPEC.format(id=id_), SOLUTION, exam)
    return folder
