"""One SQLite file and a folder of evidence: everything that is known about a class's work."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from grader.errors import SetupError
from grader.gradebook import overrides, rows, schema
from grader.gradebook.evidence_files import EvidenceFiles
from grader.gradebook.opening import open_file
from grader.gradebook.records import AuditLine, FiledGrade
from grader.model import Evidence, Grade, Outcome, Override, Student, Submission
from grader.model.result import EvidenceSummary
from grader.registry import nearest

FILE = "gradebook.sqlite"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class Gradebook:
    """The store behind a folder of results; open it with `Gradebook.open` and close it after.

    Any thread may read; one thread at a time may write.
    """

    def __init__(self, engine: Engine, folder: Path, clock: Callable[[], str] = _now):
        self.folder = folder
        self.evidence_files = EvidenceFiles(folder / "evidence")
        self._engine = engine
        self._writer = engine.execution_options(writes=True)
        self._clock = clock

    @classmethod
    def open(
        cls, folder: Path, *, create: bool = False, clock: Callable[[], str] = _now
    ) -> Gradebook:
        """The gradebook in *folder*, made when it is not there and *create* is set.

        Raises SetupError when there is none, or one that this version can't use.
        """
        return cls(open_file(folder / FILE, create=create), folder, clock)

    def close(self) -> None:
        """Lets go of the file."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Settings and the audit log

    def setting(self, name: str) -> object:
        """The value kept under *name*, or None."""
        t = schema.settings
        with self._engine.begin() as connection:
            text = connection.scalar(select(t.c.value).where(t.c.name == name))
        return None if text is None else json.loads(text)

    def set_setting(self, name: str, value: object, *, by: str = "grader", why: str = "") -> None:
        """Keeps *value*, which is JSON data, under *name*; a change goes into the audit log."""
        t, text = schema.settings, rows.to_json(value)
        with self._writer.begin() as connection:
            known = connection.scalar(select(t.c.value).where(t.c.name == name))
            if known == text:
                return
            if known is None:
                connection.execute(insert(t), {"name": name, "value": text})
            else:
                connection.execute(update(t).where(t.c.name == name).values(value=text))
            self._note(connection, "setting changed", by, why, {"name": name, "value": value})

    def record(
        self, what: str, *, by: str, why: str = "", detail: Mapping[str, object] | None = None
    ) -> None:
        """Adds a line to the audit log; what this class does itself is recorded already."""
        with self._writer.begin() as connection:
            self._note(connection, what, by, why, detail or {})

    def audit(self) -> tuple[AuditLine, ...]:
        """Everything that was done, the oldest first."""
        query = select(schema.audit).order_by(schema.audit.c.number)
        with self._engine.begin() as connection:
            return tuple(
                AuditLine(
                    number=row.number,
                    at=row.at,
                    what=row.what,
                    who=row.who,
                    why=row.why,
                    detail=json.loads(row.detail),
                )
                for row in connection.execute(query)
            )

    def _note(
        self, connection: Connection, what: str, who: str, why: str, detail: Mapping[str, object]
    ) -> None:
        line = {"what": what, "who": who, "why": why, "detail": rows.to_json(detail)}
        connection.execute(insert(schema.audit), line | {"at": self._clock()})

    # Students and what they handed in

    def add_students(self, students: Iterable[Student]) -> None:
        """Adds students, or brings their names up to date; nobody is ever removed."""
        t, known = schema.students, self.students()
        new, changed = [], []
        for one in students:
            line = {"id": one.id, "name": one.name, "email": one.email, "section": one.section}
            if one.id not in known:
                new.append(line)
            elif known[one.id] != one:
                changed.append(line)
        if not new and not changed:
            return
        with self._writer.begin() as connection:
            if new:
                connection.execute(insert(t), new)
            for line in changed:
                connection.execute(update(t).where(t.c.id == line["id"]).values(line))
            detail = {"added": len(new), "changed": len(changed)}
            self._note(connection, "students added", "grader", "", detail)

    def students(self) -> dict[str, Student]:
        """All students by id, in order of id."""
        t = schema.students
        query = select(t.c.id, t.c.name, t.c.email, t.c.section).order_by(t.c.id)
        with self._engine.begin() as connection:
            return {
                row.id: Student(id=row.id, name=row.name, email=row.email, section=row.section)
                for row in connection.execute(query)
            }

    def add_submission(self, submission: Submission) -> None:
        """Keeps an attempt; the same file handed in again becomes the latest once more."""
        t = schema.submissions
        path = rows.storable(submission.path)
        same = (t.c.student == submission.student) & (t.c.path == path)
        same &= t.c.sha256 == submission.sha256
        rest: dict[str, object] = {
            "received": submission.received,
            "refusal": None if submission.refusal is None else rows.storable(submission.refusal),
        }
        with self._write_about(submission.student) as connection:
            rest["seen"] = (connection.scalar(select(func.max(t.c.seen))) or 0) + 1
            if not connection.execute(update(t).where(same).values(rest)).rowcount:
                head = {"student": submission.student, "path": path, "sha256": submission.sha256}
                connection.execute(insert(t), head | rest | {"added": self._clock()})

    def submissions(self, student: str | None = None) -> tuple[Submission, ...]:
        """Every attempt, of one student or of all, the latest last."""
        t = schema.submissions
        query = select(t.c.student, t.c.path, t.c.sha256, t.c.received, t.c.refusal)
        if student is not None:
            query = query.where(t.c.student == student)
        with self._engine.begin() as connection:
            return tuple(
                Submission(
                    student=row.student,
                    path=row.path,
                    sha256=row.sha256,
                    received=row.received,
                    refusal=row.refusal,
                )
                for row in connection.execute(query.order_by(t.c.seen))
            )

    # Evidence

    def has_evidence(self, submission_sha256: str, fingerprint: str) -> bool:
        """Whether this file was executed in this way before, and the evidence is still there."""
        found = self._find_evidence(submission_sha256, fingerprint)
        return found is not None and self.evidence_files.whole(*found)

    def put_evidence(self, evidence: Evidence, fingerprint: str) -> None:
        """Keeps what an execution left behind; *fingerprint* stands for how it was executed.

        The file is safe on disk before its row is: a kill in between costs one execution.
        """
        line = self.evidence_files.write(evidence)
        for name in ("note", "first_error"):
            text = line[name]
            line[name] = rows.storable(text) if isinstance(text, str) else None
        line |= {"fingerprint": fingerprint, "stored": self._clock()}
        with self._writer.begin() as connection:
            connection.execute(insert(schema.evidence), line)

    def evidence(self, submission_sha256: str, fingerprint: str | None = None) -> Evidence | None:
        """The latest evidence for a file, or None.

        Raises GraderError, naming the evidence file, when it is gone or damaged.
        """
        found = self._find_evidence(submission_sha256, fingerprint)
        return None if found is None else self.evidence_files.read(*found)

    def evidence_summaries(self) -> dict[str, EvidenceSummary]:
        """How the latest execution of each file went, by the file's SHA-256."""
        t = schema.evidence
        latest = select(func.max(t.c.number)).group_by(t.c.submission_sha256)
        with self._engine.begin() as connection:
            return {
                row.submission_sha256: EvidenceSummary(
                    submission_sha256=row.submission_sha256,
                    outcome=Outcome(row.outcome),
                    seconds=row.seconds,
                    note=row.note,
                    failed_cells=row.failed_cells,
                    first_error=row.first_error,
                )
                for row in connection.execute(select(t).where(t.c.number.in_(latest)))
            }

    def _find_evidence(self, sha256: str, fingerprint: str | None) -> tuple[str, int] | None:
        t = schema.evidence
        query = select(t.c.digest, t.c.size).where(t.c.submission_sha256 == sha256)
        if fingerprint is not None:
            query = query.where(t.c.fingerprint == fingerprint)
        with self._engine.begin() as connection:
            row = connection.execute(query.order_by(t.c.number.desc()).limit(1)).first()
        return None if row is None else (row.digest, row.size)

    # Grades

    def begin_run(self, why: str, *, by: str = "grader") -> int:
        """The number of a new run, under which grades are then filed one by one."""
        with self._writer.begin() as connection:
            return self._begin_run(connection, why, by)

    def put_grade(self, grade: Grade, *, run: int) -> bool:
        """Whether the grade was new; it is then the student's current one.

        A grade equal to the current one is not filed again.
        """
        with self._write_about(grade.student) as connection:
            filed = rows.file_grades(connection, [grade], run=run, at=self._clock())
        return filed == 1

    def put_grades(self, grades: Iterable[Grade], *, why: str, by: str = "grader") -> int:
        """How many of *grades* were new; all are filed under one run, or none are."""
        with self._write_about(None) as connection:
            run = self._begin_run(connection, why, by)
            return rows.file_grades(connection, grades, run=run, at=self._clock())

    def grades(self) -> Iterator[Grade]:
        """The current grade of every student that has one, in order of student id.

        Read as it is consumed, so a class of any size takes little memory.
        """
        with self._engine.begin() as connection:
            for _, _, grade in rows.read_grades(connection, schema.grades.c.current.is_(True)):
                yield grade

    def grade(self, student: str) -> Grade | None:
        """The student's current grade, or None."""
        t = schema.grades
        mine = (t.c.student == student) & t.c.current.is_(True)
        with self._engine.begin() as connection:
            return next((grade for _, _, grade in rows.read_grades(connection, mine)), None)

    def history(self, student: str) -> tuple[FiledGrade, ...]:
        """Every grade the student ever had, the oldest first."""
        with self._engine.begin() as connection:
            return tuple(
                FiledGrade(run=run, at=at, grade=grade)
                for run, at, grade in rows.read_grades(
                    connection, schema.grades.c.student == student
                )
            )

    def _begin_run(self, connection: Connection, why: str, by: str) -> int:
        line = {"at": self._clock(), "why": why}
        query = insert(schema.runs).returning(schema.runs.c.number)
        number = int(connection.execute(query, line).scalar_one())
        self._note(connection, "grading run", by, why, {"run": number})
        return number

    # What a person changed by hand

    def put_override(self, override: Override) -> None:
        """Keeps points that a person gave; one given before for the same mark is replaced."""
        if not math.isfinite(override.points) or override.points < 0:
            raise SetupError(
                f"{override.points} points can't be given for '{override.name}'",
                fix="give a number of at least 0",
            )
        with self._write_about(override.student) as connection:
            before = overrides.put(connection, override)
            detail = {
                "student": override.student,
                "name": override.name,
                "points": override.points,
                "before": before,
            }
            self._note(connection, "override set", override.by, override.reason, detail)

    def withdraw_override(self, student: str, name: str, *, by: str, why: str) -> bool:
        """Whether there was an override to take back; the engine's points count again."""
        with self._writer.begin() as connection:
            before = overrides.withdraw(connection, student, name)
            if before is not None:
                detail = {"student": student, "name": name, "before": before}
                self._note(connection, "override withdrawn", by, why, detail)
        return before is not None

    def overrides(self) -> tuple[Override, ...]:
        """All overrides that count, in order of student and mark."""
        with self._engine.begin() as connection:
            return tuple(overrides.read(connection))

    @contextmanager
    def _write_about(self, student: str | None) -> Iterator[Connection]:
        try:
            with self._writer.begin() as connection:
                yield connection
        except IntegrityError:
            if student is None:
                raise SetupError(
                    "a grade is for a student who is not in the gradebook",
                    fix="add the roster's students first",
                ) from None
            close = nearest(student, self.students())
            raise SetupError(
                f"student '{student}' is not in the gradebook",
                fix=f"did you mean '{close}'?" if close else "add the student to the roster",
            ) from None
