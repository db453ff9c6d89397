"""Everything that a gradebook knows of one student: read in full, or removed."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, select, update

from grader.gradebook import schema
from grader.gradebook.plain import to_json
from grader.gradebook.store import Store, read_setting, store_setting
from grader.model import Student

_AUDIT = schema.audit
_FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What was removed from a gradebook."""

    pseudonym: str
    """Stands for the student in the audit log."""
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalRecord:
    """Everything that a gradebook knows of one student."""

    rows: Mapping[str, list[dict[str, object]]]
    """The rows by table, with the entries of the audit log."""
    evidence: tuple[str, ...]
    """The digests of the executions that belong to nobody else."""


class PersonalData:
    """The data of single students in a gradebook."""

    def __init__(self, store: Store):
        self._engine, self._write, self._log = store.engine, store.write, store.log

    def read(self, student: str) -> PersonalRecord:
        """Returns everything about *student*."""
        with self._engine.begin() as connection:
            evidence = _find_evidence(connection, student)
            return PersonalRecord(rows=_read_rows(connection, student), evidence=evidence)

    def without_forgotten(self, students: Mapping[str, Student]) -> dict[str, Student]:
        """Returns *students*, by id, without those who were removed."""
        with self._engine.begin() as connection:
            forgotten = frozenset(_forgotten_digests(connection))
        return {
            id_: student
            for id_, student in students.items()
            if not forgotten or _digest(id_) not in forgotten
        }

    def remove(self, student: str, *, by: str, why: str) -> Removal:
        """Removes *student* and everything about them, and records that. In the audit log, a
        pseudonym stands for them, while what was done, when, and by whom stays."""
        with self._write() as connection:
            removed = _remove_rows(connection, student)
            detail = {"student": removed.pseudonym, "rows": removed.rows}
            self._log(connection, "student forgotten", by, why, detail)
        return removed


def _digest(student: str) -> str:
    """Returns what is kept of a removed student's id, so that no run adds the student again."""
    return hashlib.sha256(f"forgotten {student}".encode()).hexdigest()


def _forgotten_digests(connection: Connection) -> list[str]:
    return list(json.loads(read_setting(connection, _FORGOTTEN) or "[]"))


def _keep_digest(connection: Connection, student: str) -> None:
    digests = {*_forgotten_digests(connection), _digest(student)}
    store_setting(connection, _FORGOTTEN, to_json(sorted(digests)))


def _read_rows(connection: Connection, student: str) -> dict[str, list[dict[str, object]]]:
    """Returns the rows about *student* by table, with the entries of the audit log."""
    rows_by_table = {}
    for table, which in _owned_rows(student):
        query = select(table).where(which).order_by(*table.primary_key.columns)
        rows_by_table[table.name] = [{**row} for row in connection.execute(query).mappings()]
    files = _own_files(connection, student)
    lines = [
        # An entry about a setting says something of others as well.
        line | {"detail": _only_about(line["detail"], student)}
        for line in _audit_lines(connection)
        if _mentions(line, student, files)
    ]
    return {name: rows for name, rows in rows_by_table.items() if rows} | {"audit": lines}


def _find_evidence(connection: Connection, student: str) -> tuple[str, ...]:
    """Returns the digests of the executions that belong to *student* and to nobody else."""
    t = schema.evidence.c
    query = select(t.digest).where(_own_evidence(student)).order_by(t.number)
    return tuple(dict.fromkeys(connection.scalars(query)))


def _remove_rows(connection: Connection, student: str) -> Removal:
    """Removes *student* from all tables, the audit log, and the settings."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    pseudonym = f"forgotten-{secrets.token_hex(4)}"
    files = _own_files(connection, student)
    _rewrite_audit(connection, student, files, pseudonym)
    _rewrite_settings(connection, student)
    _keep_digest(connection, student)
    rows = 0
    # Rows that refer to others come first.
    for table, which in reversed(list(_owned_rows(student))):
        rows += connection.execute(delete(table).where(which)).rowcount
    connection.execute(delete(schema.derived))  # made of answers, and can be made again
    return Removal(pseudonym=pseudonym, rows=rows)


def _owned_rows(student: str) -> Iterator[tuple[Table, ColumnElement[bool]]]:
    """Yields the tables with rows about *student*, and which these are."""
    owned: dict[str, ColumnElement[bool]] = {
        schema.students.name: schema.students.c.id == student,
        schema.evidence.name: _own_evidence(student),
    }
    yield schema.evidence, owned[schema.evidence.name]
    yield schema.students, owned[schema.students.name]
    for table in schema.metadata.sorted_tables:
        for key in table.foreign_keys:
            target = key.column.table
            if table.name not in owned and target.name in owned:
                rows = select(key.column).where(owned[target.name])
                owned[table.name] = key.parent.in_(rows)
                yield table, owned[table.name]


def _own_evidence(student: str) -> ColumnElement[bool]:
    t = schema.evidence.c.submission_sha256
    return t.in_(_files_of(student)) & t.not_in(_files_of(student, others=True))


def _files_of(student: str, *, others: bool = False) -> Select[Any]:
    t = schema.submissions.c
    return select(t.sha256).where(t.student != student if others else t.student == student)


def _own_files(connection: Connection, student: str) -> frozenset[str]:
    """Returns the SHA-256 of the files that *student* handed in and nobody else."""
    files_of_others = set(connection.scalars(_files_of(student, others=True)))
    return frozenset(connection.scalars(_files_of(student))) - files_of_others


def _audit_lines(connection: Connection) -> Iterator[dict[str, object]]:
    for row in connection.execute(select(_AUDIT).order_by(_AUDIT.c.number)).mappings():
        yield {**row, "detail": json.loads(row["detail"])}


def _mentions(line: Mapping[str, object], student: str, files: frozenset[str]) -> bool:
    """Returns whether *student* made an entry of the audit log, or whether the entry names the
    student or one of *files*."""
    words = {student, *files}
    return line["who"] == student or any(text in words for text in _iter_texts(line["detail"]))


def _iter_texts(value: object) -> Iterator[str]:
    """Yields all texts in JSON data, also the names in objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _iter_texts(name)
            yield from _iter_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(item)


def _only_about(detail: object, student: str) -> object:
    """Returns *detail* without what lists and tables in it say about other students."""
    if isinstance(detail, list):
        mine = [item for item in detail if student in _iter_texts(item)]
        return [_only_about(item, student) for item in mine]
    if isinstance(detail, Mapping):
        if student in detail:
            return {student: detail[student]}
        return {name: _only_about(item, student) for name, item in detail.items()}
    return detail


def _rewrite_audit(
    connection: Connection, student: str, files: frozenset[str], pseudonym: str
) -> None:
    """Replaces *student* by *pseudonym* in the audit log, and removes reasons and details."""
    lines = [line for line in _audit_lines(connection) if _mentions(line, student, files)]
    for statement in schema.NO_AUDIT_GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    for line in lines:
        who = pseudonym if line["who"] == student else line["who"]
        changed = {"who": who, "why": "", "detail": json.dumps({"student": pseudonym})}
        connection.execute(update(_AUDIT).where(_AUDIT.c.number == line["number"]).values(changed))
    for guard in schema.AUDIT_GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(guard)


def _rewrite_settings(connection: Connection, student: str) -> None:
    """Removes what settings, such as the exceptions of a course, say about the student."""
    t = schema.settings.c
    for name, text in connection.execute(select(t.name, t.value)).all():
        store_setting(connection, name, to_json(_drop_student(json.loads(text), student)))


def _drop_student(value: object, student: str) -> object:
    """Returns JSON data without the names and list items in it that are about *student*."""
    if isinstance(value, list):
        others = (v for v in value if not (isinstance(v, Mapping) and student in v.values()))
        return [_drop_student(other, student) for other in others]
    if isinstance(value, Mapping):
        return {k: _drop_student(v, student) for k, v in value.items() if k != student}
    return value
