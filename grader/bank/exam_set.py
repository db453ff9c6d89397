"""Loads a set from YAML, and checks that its problems exist."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.bank.shape import shape
from grader.bank.yaml12 import Located, Path_, read_yaml
from grader.errors import SpecError, SpecErrors
from grader.model import ExamSet, Slot
from grader.registry import nearest

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MOST_PROCESSES = 4096
_ID = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*\Z")


def load_exam(path: Path, known: Collection[str], searched: str = "") -> ExamSet:
    """The set in the YAML file at *path*; raises SpecErrors.

    *known* are the ids of problems that exist, and *searched* names the banks they come from.
    """
    source = read_yaml(path)
    exam = exam_from(source, known, searched)
    if exam.id != path.stem:
        error = SpecError(
            f"the id '{exam.id}' is not the file name '{path.stem}'",
            where=source.at(("id",)),
            fix="make them the same, since sets are found by file name",
        )
        raise SpecErrors((error,))
    return exam


def exam_from(source: Located, known: Collection[str], searched: str = "") -> ExamSet:
    """The set that *source* describes, as in `load_exam`; raises SpecErrors."""
    shaped = shape(ExamSet, source.data, source, ())
    exam, errors = shaped.record, list(shaped.errors)
    if exam is not None:
        errors += _check(exam, source, known, searched)
    if errors or not isinstance(exam, ExamSet):
        raise SpecErrors(tuple(errors))
    return exam


def _check(
    exam: ExamSet, source: Located, known: Collection[str], searched: str
) -> list[SpecError]:
    errors: list[SpecError] = []
    if not _ID.match(exam.id):
        errors.append(
            SpecError(
                f"'{exam.id}' is not a valid id",
                where=source.at(("id",)),
                fix="use letters, digits and single hyphens",
            )
        )
    if not exam.problems:
        errors.append(
            SpecError(
                "the set has no problems",
                where=source.at(("problems",)),
                fix="list at least one problem",
            )
        )
    if exam.processes is not None and not 1 <= exam.processes <= _MOST_PROCESSES:
        errors.append(
            SpecError(
                f"a notebook can't have {exam.processes} processes",
                where=source.at(("processes",)),
                fix=f"write a number from 1 to {_MOST_PROCESSES}, or omit 'processes:'",
            )
        )
    errors += [
        SpecError(
            f"'{name}' is not a valid name of an environment variable",
            where=source.at(("variables", name)),
            fix="use letters, digits and underscores, such as MY_SETTING",
        )
        for name in exam.variables
        if not _VARIABLE.match(name)
    ]
    seen: set[str] = set()
    for index, slot in enumerate(exam.slots):
        errors += _check_slot(slot, source, ("problems", index), seen)
        errors += _unknown(slot, source, ("problems", index), known, searched)
    return errors


def _unknown(
    slot: Slot, source: Located, at: Path_, known: Collection[str], searched: str
) -> Iterator[SpecError]:
    for name in slot.pool or (slot.problem,):
        if name is not None and name not in known:
            close = nearest(name, known)
            fix = "see `grader list`, or name another bank with --bank DIR or GRADER_BANK"
            yield SpecError(
                f"there is no problem '{name}'" + (f" in {searched}" if searched else ""),
                where=source.at(at),
                fix=f"did you mean '{close}'?" if close else fix,
            )


def _check_slot(slot: Slot, source: Located, at: Path_, seen: set[str]) -> list[SpecError]:
    if bool(slot.problem) == bool(slot.pool):
        return [
            SpecError(
                "an entry must have either a problem or a pool",
                where=source.at(at),
                fix="write {problem: ID} or {pool: [ID, …], choose: 1}",
            )
        ]
    errors = []
    if slot.pool and slot.parts:
        errors.append(
            SpecError(
                "'parts' works only with a problem, not with a pool",
                where=source.at((*at, "parts")),
                fix="use 'problem:' instead of 'pool:', or omit 'parts:'",
            )
        )
    for name in (slot.problem,) if slot.problem else slot.pool:
        if name in seen:
            errors.append(
                SpecError(
                    f"the problem '{name}' is in this set twice",
                    where=source.at(at),
                    fix="keep one of them, so that no student gets it twice",
                )
            )
        seen.add(str(name))
    if slot.pool and not 1 <= slot.choose <= len(slot.pool):
        errors.append(
            SpecError(
                f"can't choose {slot.choose} from a pool of {len(slot.pool)}",
                where=source.at((*at, "choose")),
                fix=f"choose 1 to {len(slot.pool)}",
            )
        )
    if slot.points is not None and slot.points <= 0:
        errors.append(
            SpecError(
                f"an entry can't be worth {slot.points:g} points",
                where=source.at((*at, "points")),
                fix="use more than 0, or omit 'points:' to use those of the problem",
            )
        )
    return errors
