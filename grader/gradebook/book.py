"""One SQLite file and a folder of evidence: everything that is known about a class's work."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, insert, select, update

from grader.errors import GraderError, SetupError
from grader.gradebook import executions, overrides, rows, schema, submissions
from grader.gradebook import students as students_table
from grader.gradebook.evidence_files import EvidenceFiles
from grader.gradebook.faults import GONE
from grader.gradebook.opening import open_file
from grader.gradebook.plain import to_json
from grader.gradebook.records import AuditLine, FiledGrade
from grader.model import Evidence, Grade, Mark, Override, Student, Submission
from grader.model.result import EvidenceSummary

FILE = "gradebook.sqlite"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
        self._opened = _identity(folder / FILE)

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

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self._require_present()
        with self._writer.begin() as connection:
            yield connection

    def _require_present(self) -> None:
        """Raises SetupError when the file is not where it was opened: nobody would find it again.

        SQLite itself goes on for a while in a file that has been deleted.
        """
        path = self.folder / FILE
        if _identity(path) != self._opened:
            what, fix = GONE
            raise SetupError(what, where=str(path), fix=fix)

    # Settings and the audit log

    def setting(self, name: str) -> object:
        """The value kept under *name*, or None."""
        t = schema.settings
        with self._engine.begin() as connection:
            text = connection.scalar(select(t.c.value).where(t.c.name == name))
        return None if text is None else json.loads(text)

    def set_setting(self, name: str, value: object, *, by: str = "grader", why: str = "") -> None:
        """Keeps *value*, which is JSON data, under *name*; a change goes into the audit log."""
        t, text = schema.settings, to_json(value)
        with self._writing() as connection:
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
        with self._writing() as connection:
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
        line = {"what": what, "who": who, "why": why, "detail": to_json(detail)}
        connection.execute(insert(schema.audit), line | {"at": self._clock()})

    # Students and what they handed in

    def add_students(self, students: Iterable[Student]) -> None:
        """Adds students, or brings their names up to date; nobody is ever removed."""
        with self._writing() as connection:
            added, changed = students_table.put(connection, students)
            if added or changed:
                detail = {"added": added, "changed": changed}
                self._note(connection, "students added", "grader", "", detail)

    def students(self) -> dict[str, Student]:
        """All students by id, in order of id."""
        with self._engine.begin() as connection:
            return {student.id: student for student in students_table.read(connection)}

    def add_submissions(self, batch: Iterable[Submission]) -> None:
        """Keeps every attempt, the latest of *batch* last; all of them, or none.

        The same file handed in again becomes the latest once more. Raises SetupError, naming
        the student, when one is of somebody unknown.
        """
        with self._writing() as connection:
            submissions.put(connection, batch, at=self._clock())

    def submissions(self, student: str | None = None) -> tuple[Submission, ...]:
        """Every attempt, of one student or of all, the latest last."""
        with self._engine.begin() as connection:
            return tuple(submissions.read(connection, student))

    # Evidence

    def put_evidence(self, evidence: Evidence, fingerprint: str) -> Evidence:
        """Keeps what an execution left behind; *fingerprint* stands for how it was executed.

        The file is safe on disk before its row is: a kill in between costs one execution. Returns
        what was kept, which is less when there was far too much of it: score that.
        """
        self._require_present()
        try:
            kept, line = self.evidence_files.write(evidence)
        except SetupError:
            self._require_present()  # the better reason, when the whole folder went meanwhile
            raise
        line |= {"fingerprint": fingerprint, "stored": self._clock()}
        with self._writing() as connection:
            connection.execute(insert(schema.evidence), line)
            detail = {name: line[name] for name in ("submission_sha256", "outcome", "fingerprint")}
            self._note(connection, "submission executed", "grader", "", detail)
        return kept

    def evidence(self, submission_sha256: str, fingerprint: str | None = None) -> Evidence | None:
        """The latest evidence for a file, or None.

        Raises GraderError, naming the evidence file, when it is gone or damaged.
        """
        with self._engine.begin() as connection:
            found = executions.find_latest(connection, submission_sha256, fingerprint)
        return None if found is None else self.evidence_files.read(*found)

    def find_evidence(
        self, submission_sha256: str, fingerprint: str | None = None
    ) -> Evidence | None:
        """As `evidence`, but None also when the file is gone or damaged: it can be made again."""
        try:
            return self.evidence(submission_sha256, fingerprint)
        except GraderError:
            return None

    def evidence_summaries(self) -> dict[str, EvidenceSummary]:
        """How the latest execution of each file went, by the file's SHA-256."""
        with self._engine.begin() as connection:
            found = executions.read_summaries(connection)
            return {summary.submission_sha256: summary for summary in found}

    # Grades

    def begin_run(self, why: str, *, by: str = "grader") -> int:
        """The number of a new run, under which grades are then filed one by one."""
        with self._writing() as connection:
            return self._begin_run(connection, why, by)

    def put_grade(self, grade: Grade, *, run: int) -> bool:
        """Whether the grade was new; it is then the student's current one.

        A grade equal to the current one is not filed again. Raises SetupError for a student who
        is not in the gradebook, and GraderError for a run that was never begun.
        """
        with self._writing() as connection:
            self._require_run(connection, run)
            filed = rows.file_grades(connection, [grade], run=run, at=self._clock())
        return filed == 1

    def put_grades(self, grades: Iterable[Grade], *, why: str, by: str = "grader") -> int:
        """How many of *grades* were new; all are filed under one run, or none are."""
        with self._writing() as connection:
            run = self._begin_run(connection, why, by)
            return rows.file_grades(connection, grades, run=run, at=self._clock())

    def withdraw_grade(self, student: str, *, by: str, why: str) -> bool:
        """Whether there was a grade that counted; none does then, and all stay in the history."""
        with self._writing() as connection:
            found = rows.withdraw_grade(connection, student)
            if found:
                self._note(connection, "grade withdrawn", by, why, {"student": student})
        return found

    def grades(self) -> Iterator[Grade]:
        """The current grade of every student that has one, in order of student id.

        Read as it is consumed, so a class of any size takes little memory.
        """
        with self._engine.begin() as connection:
            for _, _, grade in rows.read_grades(connection, schema.grades.c.current.is_(True)):
                yield grade

    def grade_heads(self) -> dict[str, tuple[str, str | None]]:
        """What stands for the whole current grade, and the file's SHA-256, by student id.

        Takes a hundredth of the time of reading the grades.
        """
        with self._engine.begin() as connection:
            return {who: (digest, file) for who, digest, file in rows.read_heads(connection)}

    def open_marks(self) -> list[tuple[str, Mark]]:
        """The student and each mark that is unsettled in the current grades, by student id."""
        with self._engine.begin() as connection:
            return list(rows.read_open_marks(connection))

    def grade(self, student: str) -> Grade | None:
        """The student's current grade, or None."""
        t = schema.grades
        mine = (t.c.student == student) & t.c.current.is_(True)
        with self._engine.begin() as connection:
            return next((grade for _, _, grade in rows.read_grades(connection, mine)), None)

    def settled(self, student: str, submission_sha256: str) -> frozenset[str]:
        """Names of the marks that the student's current grade settles, if it is of this file.

        Such a mark comes from a run in which we did not fail, so a later failure of ours should
        not replace it. Others may be open: what waits for a person is never settled in a grade.
        """
        with self._engine.begin() as connection:
            return frozenset(rows.read_settled(connection, student, submission_sha256))

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

    def _require_run(self, connection: Connection, run: int) -> None:
        query = select(schema.runs.c.number).where(schema.runs.c.number == run)
        if connection.scalar(query) is None:
            raise GraderError(f"the gradebook has no run {run} to file a grade under")

    # What a person changed by hand

    def put_overrides(self, batch: Sequence[Override]) -> None:
        """Keeps points that a person gave, all or none; they replace earlier ones for the mark."""
        for one in batch:
            if not math.isfinite(one.points) or one.points < 0:
                raise SetupError(
                    f"{one.points} points can't be given for '{one.name}'",
                    fix="give a number of at least 0",
                )
        with self._writing() as connection:
            for one in batch:
                before = overrides.put(connection, one)
                detail: dict[str, object] = {"student": one.student, "name": one.name}
                detail |= {"points": one.points, "before": before}
                self._note(connection, "override set", one.by, one.reason, detail)

    def put_override(self, override: Override) -> None:
        """Keeps points that a person gave for one mark."""
        self.put_overrides((override,))

    def withdraw_override(self, student: str, name: str, *, by: str, why: str) -> bool:
        """Whether there was an override to take back; the engine's points count again."""
        with self._writing() as connection:
            before = overrides.withdraw(connection, student, name)
            if before is not None:
                detail = {"student": student, "name": name, "before": before}
                self._note(connection, "override withdrawn", by, why, detail)
        return before is not None

    def overrides(self) -> tuple[Override, ...]:
        """All overrides that count, in order of student and mark."""
        with self._engine.begin() as connection:
            return tuple(overrides.read(connection))
