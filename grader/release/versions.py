"""Versions of an exam that students share: who gets which, and the sample that nobody is graded by.

A version in notebooks is what it is on paper: a letter by which the numbers are drawn. With the
same private key, version B on paper and version B as a notebook have the same numbers.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.errors import SetupError
from grader.model import SAMPLE, Release, Student
from grader.release.roster import seats_problem, version_problem

LETTERS = string.ascii_uppercase


def seated(
    students: Sequence[Student], versions: int | None, known: Mapping[str, Student]
) -> tuple[Student, ...]:
    """*students* with the version that each one gets, in their order.

    *known* are those of the release that is there already: they keep what they have. A version that
    the roster names stays too. Of the others, with *versions* from 1 to 26, each gets the letter
    that the fewest have, the first of several; so that they spread evenly, neighbours differ, and
    the same roster gives the same. Without it they have numbers of their own, unless everybody in
    *known* shares a version: then they join those. Raises SetupError for names that can't be.
    """
    for student in students:
        problem = version_problem(student.version)
        if problem:
            raise SetupError(problem, fix="name versions A, B, C, ...")
    kept = [_kept(student, known.get(student.id)) for student in students]
    letters = _letters(versions, known)
    taken = Counter(s.version for s in {**known, **{s.id: s for s in kept}}.values())
    done: list[Student] = []
    for student in kept:
        mine = student.version
        if letters and not mine and student.id not in known:
            mine = min(letters, key=lambda letter: taken[letter])
            taken[mine] += 1
        done.append(replace(student, version=mine))
    problem = seats_problem({**known, **{s.id: s for s in done}}.values())
    if problem:
        raise SetupError(problem, fix="name versions A, B, C, ..., and nobody like one of them")
    return tuple(done)


def _kept(student: Student, before: Student | None) -> Student:
    if before is None or student.version:
        return student
    return replace(student, version=before.version)


def _letters(versions: int | None, known: Mapping[str, Student]) -> tuple[str, ...]:
    if versions is not None:
        return tuple(LETTERS[:versions])
    if known and all(student.version for student in known.values()):
        return tuple(sorted({student.version for student in known.values()}))
    return ()


def versions_of(release: Release) -> tuple[str, ...]:
    """The versions that students of *release* share, sorted."""
    return tuple(sorted({s.version for s in release.students.values() if s.version}))


def shared_version(release: Release) -> str:
    """The one version that everybody in *release* has; empty where there are several, or none."""
    found = {student.version for student in release.students.values()}
    return next(iter(found)) if len(found) == 1 else ""


def of_version(version: str) -> Student:
    """Stands for everybody with that version, by nobody's name."""
    return Student(id=version, version=version)


def sample_student() -> Student:
    """Whose paper the sample is: its numbers are drawn for nobody."""
    return of_version(SAMPLE)
