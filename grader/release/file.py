"""Reads and writes `release.json`, the private file with everything that grading needs."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from grader import __version__
from grader.bank.exam_set import exam_from
from grader.bank.facts import facts_data, facts_item
from grader.bank.folders import Bank
from grader.bank.problem import digest, digest_of, problem_from
from grader.bank.yaml12 import Located, scalar, with_tuples
from grader.errors import Location, SetupError, SpecError
from grader.figures.base import figure_types
from grader.files import read_bytes
from grader.kinds import kinds
from grader.model import ExamSet, Release, Student
from grader.release import sealed
from grader.release.roster import id_key, similarity

SCHEMA = "systems-grader/release/v1"


def new_release(
    bank: Bank, exam: ExamSet, students: tuple[Student, ...], private_key: bytes
) -> Release:
    """Returns a release of *exam* for *students*, with the current specs and facts of the bank."""
    sources = {name: bank.locate(name)[1].data for name in exam.problem_ids}
    solutions = {name: text for name in exam.problem_ids if (text := bank.problem(name).solution)}
    # All facts if any is used, because which ones may depend on the drawn numbers.
    uses_facts = "fact(" in json.dumps(sources)
    return _build_release(
        exam,
        sources,
        solutions,
        facts_data(bank.facts) if uses_facts else {},
        {s.id: s for s in students},
        private_key,
        __version__,
    )


def _require_plug_ins(sources: Mapping[str, Any], file: Path) -> None:
    """Raises SetupError if a spec in *sources* has a kind or a type of figure that is missing."""
    used = (
        (registry, entry[field])
        for spec in sources.values()
        for group, field, registry in (("parts", "kind", kinds), ("figures", "type", figure_types))
        for entry in spec.get(group, ())
    )
    missing = {f"the {registry.noun} '{name}'" for registry, name in used if name not in registry}
    if missing:
        raise SetupError(
            f"this installation lacks {' and '.join(sorted(missing))}, which the release needs",
            where=Location(str(file)),
            fix="install the package that provides it",
        )


def edit_specs(release: Release, sources: Mapping[str, Any]) -> Release:
    """Returns *release* with the specs in *sources* in place of those with the same ids."""
    solutions = {
        name: problem.solution for name, problem in release.problems.items() if problem.solution
    }
    return _build_release(
        release.exam,
        {**release.sources, **sources},
        solutions,
        facts_data(release.facts),
        release.students,
        release.private_key,
        release.engine,
    )


def add_students_to(release: Release, students: tuple[Student, ...]) -> Release:
    """Returns the release with *students* added. Those who are in it are updated by
    `Student.merged_with`.

    The numbers of students already in the release never change. Raises SetupError if a student
    would get different numbers, or if two ids are too similar.
    """
    folded = {id_key(name): name for name in release.students}
    for student in students:
        other = folded.setdefault(id_key(student.id), student.id)
        if other != student.id:
            raise SetupError(
                f"{similarity(student.id, other)}, and so would files",
                fix="use the id in the release, or a different one",
            )
        was = release.students.get(student.id, student)
        if was.seat != student.seat:
            had, wanted = _numbers_of(was), _numbers_of(student)
            raise SetupError(
                f"'{student.id}' has {had} in this release, not {wanted}",
                fix="notebooks that were handed out can't change: remove the version from the "
                "roster, or render into another folder",
            )
    merged = dict(release.students)
    for student in students:
        merged[student.id] = merged.get(student.id, student).merged_with(student)
    return dataclasses.replace(release, students=merged)


def _numbers_of(student: Student) -> str:
    return f"version {student.version}" if student.version else "individual numbers"


def release_bytes(release: Release) -> bytes:
    """Returns the contents of `release.json`, which are the same for the same release."""
    data = {
        "schema": SCHEMA,
        "private": "This file holds the answers. Keep it away from students.",
        "id": release.id,
        "engine": release.engine,
        "private_key": base64.b64encode(release.private_key).decode(),
        "set": _round_trip_json(dataclasses.asdict(release.exam)),
        "digests": dict(release.digests),
        "problems": _round_trip_json(release.sources),
        "facts": facts_data(release.facts),
        "students": [_student_data(s) for s in release.students.values()],
    }
    solutions = {name: p.solution for name, p in release.problems.items() if p.solution}
    if solutions:
        data["solutions"] = solutions
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _student_data(student: Student) -> dict[str, str]:
    """Returns a student as plain data. Without a version, the key is omitted, as in older
    releases."""
    line = dataclasses.asdict(student)
    return line if student.version else {k: v for k, v in line.items() if k != "version"}


def load_release(path: Path) -> Release:
    """Returns the release at *path*: its file, its folder, or a sealed pack.

    A pack is opened in memory with the key that this process holds. Raises SetupError.
    """
    file = path / "release.json" if path.is_dir() else path
    fix = "give the release.json that `grader render` wrote"
    data = read_bytes(file, "the release", fix=fix)
    if sealed.is_pack(data):
        data = sealed.unseal(data, sealed.current_key(), Location(str(file)))
    return _read(data, file, fix)


@lru_cache(maxsize=2)  # a command may read the same release for grading and for the report
def _read(packed: bytes, file: Path, fix: str) -> Release:
    """Returns the release in *packed*, the content of *file*. Raises SetupError."""
    try:
        data = json.loads(packed, parse_int=scalar)
    except (ValueError, RecursionError) as error:
        where = Location(str(file))
        if isinstance(error, json.JSONDecodeError) and packed.strip():
            where = Location(str(file), error.lineno, error.colno)
        raise SetupError(
            "this is not JSON" if packed.strip() else "the file is empty",
            where=where,
            fix=f"{fix}, or restore it from a backup",
        ) from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        is_other = isinstance(schema, str) and schema.startswith(SCHEMA.rsplit("/", 1)[0] + "/")
        raise SetupError(
            f"another version of the grader wrote this release, in the format {schema}; "
            f"this version reads {SCHEMA}"
            if is_other
            else "this is not a release",
            where=Location(str(file)),
            fix="install the version of the grader that wrote it" if is_other else fix,
        )
    return _parse(data, file)


def _parse(data: Mapping[str, Any], file: Path) -> Release:
    """Returns the release in *data*. Raises SetupError if it is damaged or was changed by hand."""
    try:
        sources = with_tuples(data["problems"])
        exam_data = with_tuples(_drop_none(data["set"]))
        exam = exam_from(_without_places(exam_data, file), set(sources))
        release = _build_release(
            exam,
            sources,
            data.get("solutions", {}),
            data["facts"],
            {s["id"]: Student(**s) for s in data["students"]},
            base64.b64decode(data["private_key"]),
            data["engine"],
        )
        stored_id = data["id"]
    except (KeyError, TypeError, ValueError, AttributeError, SpecError) as error:
        with suppress(KeyError, TypeError, AttributeError):  # it is damaged
            _require_plug_ins(data["problems"], file)
        first = error.errors[0].what if isinstance(error, SpecError) else error
        raise SetupError(
            f"the release is damaged: {first}",
            where=Location(str(file)),
            fix="restore the file that `grader render` wrote",
        ) from None
    if release.id != stored_id:
        raise SetupError(
            "the release was changed after it was made",
            where=Location(str(file)),
            fix="restore the file that `grader render` wrote; to correct a problem, edit its "
            "YAML and run `grader score --specs current`",
        )
    return release


# Fields added to sets and their entries later. With their defaults, they are not part of a
# release's id, so that older releases still load.
_SINCE_FIRST = ("variables", "processes", "blueprint", "edition")
_ENTRY_SINCE_FIRST = ("draw", "edition")


def _identity_data(exam: ExamSet) -> Any:
    """Returns the data of *exam* that a release's id depends on."""
    plain = _round_trip_json(dataclasses.asdict(exam))
    identity = {name: v for name, v in plain.items() if v or name not in _SINCE_FIRST}
    return {**identity, "problems": [_identity_of_entry(entry) for entry in identity["problems"]]}


def _identity_of_entry(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry
    return {name: v for name, v in entry.items() if v or name not in _ENTRY_SINCE_FIRST}


def _build_release(
    exam: ExamSet,
    sources: Mapping[str, Any],
    solutions: Mapping[str, str],
    facts: Mapping[str, Mapping[str, Any]],
    students: Mapping[str, Student],
    private_key: bytes,
    engine: str,
) -> Release:
    """Returns the release made of these parts, whose id is a digest of all but the students."""
    problems = {
        name: problem_from(_without_places(source, name), solutions.get(name, ""), checked=True)
        for name, source in sources.items()
    }
    digests = {name: digest_of(source, solutions.get(name, "")) for name, source in sources.items()}
    # Students are not part of the id: adding one must not change it.
    pinned = digest([_identity_data(exam), digests, facts, private_key.hex()])
    return Release(
        id=hashlib.sha256(pinned.encode()).hexdigest()[:16],
        exam=exam,
        problems=problems,
        digests=digests,
        facts={item: facts_item(fields) for item, fields in facts.items()},
        students=students,
        private_key=private_key,
        engine=engine,
        sources=sources,
    )


def _without_places(data: object, file: Path | str) -> Located:
    """Returns data without locations, for specs that were checked when the release was made."""
    return Located(str(file), data, {(): (1, 1)}, {})


def _round_trip_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


def _drop_none(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _drop_none(v) for k, v in data.items() if v is not None}
    return [_drop_none(v) for v in data] if isinstance(data, list) else data
