"""Versions of an exam that students share, and the ungraded sample.

A version is a letter from which the numbers are drawn. With the same private key, version B on
paper and version B as a notebook have the same numbers.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.errors import SetupError
from grader.model import SAMPLE, Release, Student
from grader.release.roster import seats_problem

LETTERS = string.ascii_uppercase


def assign_versions(
    students: Sequence[Student], versions: int | None, known: Mapping[str, Student]
) -> tuple[Student, ...]:
    """Returns *students* with the version that each one gets, in order.

    Students in *known*, those of an existing release, keep theirs, as do students with a version in
    the roster. If *versions* is given (1 to 26), each of the others gets the least used letter, the
    first one in case of a tie: versions are spread evenly, neighbors differ, and the result is
    deterministic. Otherwise, they get individual numbers, unless all students in *known* share
    versions: then they get one of those. Raises SetupError for ambiguous versions.
    """
    before = [_keep_version(student, known.get(student.id)) for student in students]
    letters = _letters_to_assign(versions, known)
    uses = Counter(s.version for s in {**known, **{s.id: s for s in before}}.values())
    assigned: list[Student] = []
    for student in before:
        version = student.version
        if letters and not version and student.id not in known:
            version = min(letters, key=lambda letter: uses[letter])
            uses[version] += 1
        assigned.append(replace(student, version=version))
    problem = seats_problem({**known, **{s.id: s for s in assigned}}.values())
    if problem:
        raise SetupError(problem, fix="name versions A, B, C, ..., unlike any student's id")
    return tuple(assigned)


def _keep_version(student: Student, before: Student | None) -> Student:
    if before is None or student.version:
        return student
    return replace(student, version=before.version)


def _letters_to_assign(versions: int | None, known: Mapping[str, Student]) -> tuple[str, ...]:
    """Returns the versions for students without one, or none if they get individual numbers."""
    if versions is not None:
        return tuple(LETTERS[:versions])
    if known and all(student.version for student in known.values()):
        return tuple(sorted({student.version for student in known.values()}))
    return ()


def versions_of(release: Release) -> tuple[str, ...]:
    """Returns the versions that students of *release* share, sorted."""
    return tuple(sorted({s.version for s in release.students.values() if s.version}))


def shared_version(release: Release) -> str:
    """Returns the version that all students of *release* share, or an empty text if they don't."""
    versions = {student.version for student in release.students.values()}
    return next(iter(versions)) if len(versions) == 1 else ""


def of_version(version: str) -> Student:
    """Returns a student that represents *version*, without anyone's name."""
    return Student(id=version, version=version)


def sample_student() -> Student:
    """Returns the student that represents the sample for practice."""
    return of_version(SAMPLE)
