"""A large class without kernels: an exam of forty parts, and evidence of no execution."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.bank.folders import Bank
from grader.draw import paper
from grader.kinds import kinds
from grader.model import (
    Answer,
    CellRun,
    Evidence,
    Key,
    Outcome,
    Paper,
    Raw,
    Release,
    Student,
    Submission,
)

PARTS = 40
_RIGHT = 0.6
_OUTPUT = "torch.Size([4, 256, 320])\n"


_NOT_ANSWERS = ("explanation", "code", "measurement", "prediction")


def forty_parts(folder: Path) -> Path:
    """A set of the bank's problems, in their order, cut off after forty parts.

    Left out is what a person judges and what has to be run again to be judged: that takes what the
    reference takes, and is no question of how fast marks are made of answers.
    """
    bank, left = Bank.open(), PARTS
    lines = ["id: forty", "title: Forty parts", "problems:"]
    for name in bank.listed_problems:
        parts = [p.id for p in bank.problem(name).parts if p.kind not in _NOT_ANSWERS][:left]
        if parts:
            lines.append(f"  - {{problem: {name}, parts: [{', '.join(parts)}]}}")
        left -= len(parts)
        if not left:
            break
    path = folder / "forty.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def students(size: int) -> tuple[Student, ...]:
    """So many of them."""
    return tuple(Student(id=f"s{number:05d}") for number in range(1, size + 1))


def submission(student: str) -> Submission:
    """One that was never written to disk."""
    digest = hashlib.sha256(student.encode()).hexdigest()
    return Submission(
        student=student, path=f"{student}.ipynb", sha256=digest, received="2026-01-01T00:00:00Z"
    )


def evidence(mine: Paper) -> Evidence:
    """What an execution might have left: three answers of five right, some named mistakes."""
    student = mine.student.id
    dice = random.Random(student)
    answers = {
        name: Answer(name=name, raw=dice.choice(_samples(key, right=dice.random() < _RIGHT)))
        for name, key in mine.named_keys()
    }
    cells = tuple(
        CellRun(index=i, outcome=Outcome.FINISHED, seconds=0.003, output=_OUTPUT)
        for i in range(PARTS)
    )
    return Evidence(
        submission_sha256=submission(student).sha256,
        outcome=Outcome.FINISHED,
        answers=answers,
        cells=cells,
        seconds=1.0,
        environment={"kernel": "none", "why": "synthetic"},
    )


def _samples(key: Key, *, right: bool) -> list[Raw]:
    """Answers as the kernel would send them: right ones, or readable ones that are not."""
    found = kinds.find(key.part.kind).examples(key)
    good = [s.raw for s in found if s.share == 1]
    bad = [s.raw for s in found if s.share is not None and s.share < 1]
    return (good if right else bad) or good or bad


def papers(release: Release) -> Iterator[tuple[str, Paper]]:
    """Every student's paper, drawn as it is asked for."""
    members: Mapping[str, Student] = release.students
    for student in members.values():
        yield student.id, paper(release, student)
