"""Loads a set from YAML, and checks that its problems exist."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from grader.bank.shape import shape
from grader.bank.yaml12 import Located, Path_, read_yaml
from grader.errors import SpecError, SpecErrors
from grader.model import Edition, ExamSet, Slot
from grader.registry import suggest

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MOST_PROCESSES = 4096
_ID = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*\Z")


def load_exam(path: Path, known: Collection[str], searched: str = "") -> tuple[ExamSet, Located]:
    """Returns the set in the YAML file at *path*, and its data with locations; raises SpecErrors.

    *known* are the ids of problems that exist, and *searched* names the banks they come from.
    """
    source = read_yaml(path)
    if isinstance(source.data, dict) and {"family", "parts"} <= source.data.keys():
        what, fix = "this file is a problem, and a set is needed", "list its id in a set file"
        raise SpecErrors((source.error((), what, fix),))
    exam = exam_from(source, known, searched)
    if exam.minutes is not None and exam.minutes <= 0:
        what = f"a set can't take {exam.minutes:g} minutes"
        fix = "write a number above 0, or omit 'minutes:'"
        raise SpecErrors((source.error(("minutes",), what, fix),))
    if exam.id != path.stem:
        what = f"the id '{exam.id}' is not the file name '{path.stem}'"
        fix = "make them the same, since sets are found by file name"
        raise SpecErrors((source.error(("id",), what, fix),))
    return exam, source


def exam_from(source: Located, known: Collection[str], searched: str = "") -> ExamSet:
    """Returns the set that *source* describes. Raises SpecErrors.

    *known* are the ids of the bank's problems; *searched* names the bank in errors.
    """
    shaped = shape(ExamSet, source.data, source, ())
    exam, errors = shaped.record, list(shaped.errors)
    if exam is not None:
        errors += _check_fields(exam, source, known, searched)
        if not errors:
            errors += _check_whole(exam, source)
    if errors or not isinstance(exam, ExamSet):
        raise SpecErrors(tuple(errors))
    return exam


def _check_fields(
    exam: ExamSet, source: Located, known: Collection[str], searched: str
) -> Iterator[SpecError]:
    """Yields errors in the fields of *exam* and in its entries."""
    if not _ID.match(exam.id):
        what, fix = f"'{exam.id}' is not a valid id", "use letters, digits, and single hyphens"
        yield source.error(("id",), what, fix)
    if exam.processes is not None and not 1 <= exam.processes <= _MOST_PROCESSES:
        what = f"a notebook can't have {exam.processes} processes"
        fix = f"write a number from 1 to {_MOST_PROCESSES}, or omit 'processes:'"
        yield source.error(("processes",), what, fix)
    for name in exam.variables:
        if not _VARIABLE.match(name):
            what = f"'{name}' is not a valid name of an environment variable"
            fix = "use letters, digits, and underscores, such as MY_SETTING"
            yield source.error(("variables", name), what, fix)
    yield from _check_edition(exam.edition, source, ("edition",))
    used: set[str] = set()
    for index, slot in enumerate(exam.slots):
        yield from _check_edition(slot.edition, source, ("problems", index, "edition"))
        yield from _check_slot(slot, source, ("problems", index), used)
        yield from _check_problem_ids(slot, source, ("problems", index), known, searched)


def _check_whole(exam: ExamSet, source: Located) -> Iterator[SpecError]:
    """Yields errors in the whole set, which may just follow from errors in its fields."""
    if exam.blueprint is not None:
        from grader.bank.blueprint.checks import check_numbers

        yield from check_numbers(exam.blueprint, exam.minutes, source)
    elif not exam.problems:
        fix = "list at least one problem, or describe them in 'blueprint:'"
        yield source.error(("problems",), "the set has no problems", fix)


def _check_problem_ids(
    slot: Slot, source: Located, at: Path_, known: Collection[str], searched: str
) -> Iterator[SpecError]:
    """Yields an error for each problem of *slot* that is not in *known*."""
    for name in slot.problem_ids:
        if name not in known:
            what = f"there is no problem '{name}'" + (f" in {searched}" if searched else "")
            fix = "see `grader list`, or name another bank with --bank DIR or GRADER_BANK"
            yield source.error(at, what, suggest(name, known, fix))


def _check_parts(slot: Slot, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields errors in the form of 'parts', and for a problem that is not in the pool."""
    if slot.problem and not isinstance(slot.parts, tuple):
        fix = "write 'parts: [ID, …]'"
        yield source.error(at, "'parts' of a problem should be a list of its parts", fix)
    elif slot.pool and isinstance(slot.parts, tuple) and slot.parts:
        fix = "write 'parts: {PROBLEM: [ID, …]}', or omit 'parts:'"
        yield source.error(
            at, "in a pool, 'parts' must name the problem that the parts belong to", fix
        )
    elif slot.pool and isinstance(slot.parts, Mapping):
        for name in slot.parts:
            if name not in slot.pool:
                fix = "name a problem of the pool: " + ", ".join(slot.pool)
                yield source.error((*at, name), f"'{name}' is not in this pool", fix, key=True)


def _check_draw(slot: Slot, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields errors if 'draw' is beside 'pool' or 'parts', or draws fewer than one part."""
    if slot.draw and (slot.pool or slot.parts):
        fix = "write {problem: ID, draw: {POOL: 2}}, without 'pool:' and 'parts:'"
        yield source.error((*at, "draw"), "'draw' is for the parts of one problem", fix, key=True)
    for name, count in slot.draw.items():
        if count < 1:
            what, fix = f"can't draw {count} parts", f"draw at least 1, or omit '{name}'"
            yield source.error((*at, "draw", name), what, fix)


def _check_edition(edition: Edition | None, source: Located, at: Path_) -> Iterator[SpecError]:
    if edition is not None and not 1 <= edition.number <= edition.of:
        what = f"there is no edition {edition.number} of {edition.of}"
        yield source.error(at, what, "write a number from 1 to 'of'")


def _check_slot(slot: Slot, source: Located, at: Path_, used: set[str]) -> Iterator[SpecError]:
    """Yields errors in an entry; adds its problems to *used*, those of earlier entries."""
    if bool(slot.problem) == bool(slot.pool):
        fix = "write {problem: ID} or {pool: [ID, …], choose: 1}"
        yield source.error(at, "an entry must have either a problem or a pool", fix)
        return
    yield from _check_parts(slot, source, (*at, "parts"))
    yield from _check_draw(slot, source, at)
    for name in slot.problem_ids:
        if name in used:
            fix = "keep one of them, so that no student gets it twice"
            yield source.error(at, f"the problem '{name}' is in this set twice", fix)
        used.add(name)
    if slot.pool and not 1 <= slot.choose <= len(slot.pool):
        what = f"can't choose {slot.choose} from a pool of {len(slot.pool)}"
        yield source.error((*at, "choose"), what, f"choose 1 to {len(slot.pool)}")
    if slot.points is not None and slot.points <= 0:
        what = f"an entry can't be worth {slot.points:g} points"
        fix = "use more than 0, or omit 'points:' to use those of the problem"
        yield source.error((*at, "points"), what, fix)
