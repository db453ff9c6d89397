"""The gradebook: a database and a folder of evidence."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Self

from sqlalchemy import URL, Connection, Engine, insert

from grader.errors import GraderError, SetupError
from grader.gradebook import decision_rows, overrides, rows, schema, submissions
from grader.gradebook import students as students_table
from grader.gradebook.address import check_choice, find_address, store_address
from grader.gradebook.answers import Answers
from grader.gradebook.audit_log import ENGINE, AuditLine, AuditLog, read_lines
from grader.gradebook.decisions import Decisions
from grader.gradebook.derived import Derived
from grader.gradebook.double_marks import DoubleMarks
from grader.gradebook.engines import writer
from grader.gradebook.evidence_files import EvidenceFiles
from grader.gradebook.evidence_places import EvidencePlace, choose_place, store_place
from grader.gradebook.opening import DatabaseFile, open_gradebook
from grader.gradebook.personal import PersonalData
from grader.gradebook.plain import now, to_json
from grader.gradebook.requests import Requests
from grader.gradebook.rows import FiledGrade
from grader.gradebook.rubrics import Rubrics
from grader.gradebook.store import Store, read_setting, store_setting
from grader.model import Evidence, Grade, Mark, Override, Student, Submission
from grader.model.course import HandedIn
from grader.model.result import EvidenceSummary

_LONGEST_VALUE = 500  # characters of a setting that the audit log repeats


class Gradebook:
    """The store of a results folder. Open it with `Gradebook.open` and close it when done.

    Any thread may read; only one thread at a time may write.
    """

    def __init__(self, engine: Engine, folder: Path, place: EvidencePlace):
        self.folder = folder
        self.evidence_files = EvidenceFiles(place)
        self.derived = Derived(engine)
        self._engine = engine
        self._writer = writer(engine)
        self._file = DatabaseFile(engine)
        store = Store(engine=engine, write=self._write_transaction, log=self._log_action)
        self.audit_log = AuditLog(engine)
        self.answers = Answers(store)
        self.decisions = Decisions(store)
        self.rubrics = Rubrics(store, self.decisions)
        self.personal = PersonalData(store)
        self.double = DoubleMarks(store, self.decisions)
        self.requests = Requests(store, self.decisions)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        create: bool = False,
        at: URL | None = None,
        evidence: str = "",
    ) -> Gradebook:
        """Opens the gradebook in *folder*. With *create*, makes a missing one, in the database *at*
        and with its evidence in the object store *evidence*, if given.

        Raises SetupError if there is none, or another one than *at*, or if this version can't use
        it.
        """
        if at is not None:
            check_choice(folder, at)
        place = choose_place(folder, evidence)
        engine = open_gradebook(at or find_address(folder), create=create)
        if at is not None:
            store_address(folder, at)
        if evidence:
            store_place(folder, place)
        return cls(engine, folder, place)

    def close(self) -> None:
        """Writes what is still kept in memory, and closes the connections to the database."""
        self.derived.flush()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _write_transaction(self) -> Iterator[Connection]:
        self._file.require_present()
        with self._writer.begin() as connection:
            self.derived.write(connection)
            yield connection

    # Settings and the audit log

    def setting(self, name: str) -> object:
        """Returns the value stored under *name*, or None."""
        with self._engine.begin() as connection:
            text = read_setting(connection, name)
        return None if text is None else json.loads(text)

    def set_setting(
        self, name: str, value: object, *, by: str = ENGINE, why: str = "", secret: bool = False
    ) -> None:
        """Stores *value*, which is JSON data, under *name*. Changes are recorded in the audit log,
        without the value if it is *secret*."""
        text = to_json(value)
        with self._write_transaction() as connection:
            if not store_setting(connection, name, text):
                return
            shown = value if len(text) <= _LONGEST_VALUE else f"{len(text)} characters"
            detail = {"name": name} if secret else {"name": name, "value": shown}
            self._log_action(connection, "setting changed", by, why, detail)

    def record(
        self, what: str, *, by: str, why: str = "", detail: Mapping[str, object] | None = None
    ) -> None:
        """Adds an entry to the audit log. The other methods of this class add their own."""
        with self._write_transaction() as connection:
            self._log_action(connection, what, by, why, detail or {})

    def audit(self, *, after: int = 0) -> tuple[AuditLine, ...]:
        """Returns the entries of the audit log after number *after*, oldest first."""
        with self._engine.begin() as connection:
            return tuple(read_lines(connection, after))

    def _log_action(
        self, connection: Connection, what: str, who: str, why: str, detail: Mapping[str, object]
    ) -> None:
        line = {"what": what, "who": who, "why": why, "detail": to_json(detail)}
        connection.execute(insert(schema.audit), line | {"at": now()})

    # Students and what they handed in

    def add_students(self, students: Iterable[Student]) -> None:
        """Adds new students and updates the others. Never removes any."""
        with self._write_transaction() as connection:
            added, changed = students_table.store_students(connection, students)
            detail = {"added": added, "changed": changed}
            if added or changed:
                self._log_action(connection, "students added", ENGINE, "", detail)

    def students(self) -> dict[str, Student]:
        """Returns all students by ID, sorted by ID."""
        with self._engine.begin() as connection:
            return {student.id: student for student in students_table.read_students(connection)}

    def add_submissions(self, batch: Iterable[Submission]) -> None:
        """Stores the attempts of *batch*, in which the latest is last, all or none.

        A file that is handed in again becomes the latest. Raises SetupError, naming the student, if
        one is unknown.
        """
        with self._write_transaction() as connection:
            submissions.store_submissions(connection, batch, at=now())

    def submissions(self, student: str | None = None) -> tuple[Submission, ...]:
        """Returns every attempt, of one student or of all, the latest last."""
        with self._engine.begin() as connection:
            return tuple(submissions.read_submissions(connection, student))

    def put_times(self, batch: Sequence[HandedIn], *, by: str) -> None:
        """Stores when files were handed in, in place of earlier times of the same files. A time
        that *batch* lacks, such as of the start, stays."""
        with self._write_transaction() as connection:
            stored = {(h.student, h.sha256): h for h in submissions.read_times(connection)}
            merged = [submissions.merge_times(h, stored.get((h.student, h.sha256))) for h in batch]
            new = [h for h in merged if h != stored.get((h.student, h.sha256))]
            if new:
                submissions.store_times(connection, new)
                detail = {"times": [asdict(handed_in) for handed_in in new]}
                self._log_action(connection, "times of submission set", by, "", detail)

    def times(self) -> tuple[HandedIn, ...]:
        """Returns when files were handed in, sorted by student and file."""
        with self._engine.begin() as connection:
            return tuple(submissions.read_times(connection))

    # Evidence

    def put_evidence(self, evidence: Evidence, fingerprint: str) -> Evidence:
        """Stores the evidence of an execution, with the *fingerprint* of how it was executed.

        The file is on disk before its row is written, so a kill in between costs one execution.
        Returns the stored evidence, which is truncated if it was far too large: score that.
        """
        self._file.require_present()
        try:
            stored, line = self.evidence_files.write(evidence)
        except SetupError:
            self._file.require_present()  # a more specific error if the whole folder is gone
            raise
        line |= {"fingerprint": fingerprint, "stored": now()}
        with self._write_transaction() as connection:
            connection.execute(insert(schema.evidence), line)
            detail = {name: line[name] for name in ("submission_sha256", "outcome", "fingerprint")}
            self._log_action(connection, "submission executed", ENGINE, "", detail)
        return stored

    def evidence(self, submission_sha256: str, fingerprint: str | None = None) -> Evidence | None:
        """Returns the latest evidence for a file, or None.

        Raises GraderError, naming the evidence file, if it is missing or damaged.
        """
        with self._engine.begin() as connection:
            latest = submissions.find_latest(connection, [submission_sha256], fingerprint)
        return self.evidence_files.read(*latest[submission_sha256]) if latest else None

    def find_evidence(
        self, submission_sha256: str, fingerprint: str | None = None
    ) -> Evidence | None:
        """Returns the latest evidence for a file, or None, also if its file is missing or
        damaged. Raises SetupError if the place of the evidence can't be reached."""
        try:
            return self.evidence(submission_sha256, fingerprint)
        except SetupError:
            raise  # the store can't be reached, which says nothing about the evidence
        except GraderError:
            return None

    def evidence_summaries(self) -> dict[str, EvidenceSummary]:
        """Returns the latest execution of each file, by the file's SHA-256."""
        with self._engine.begin() as connection:
            summaries = submissions.read_summaries(connection)
            return {summary.submission_sha256: summary for summary in summaries}

    def evidence_digests(self, files: Iterable[str]) -> dict[str, str]:
        """Returns the SHA-256 of the latest evidence of *files* by the SHA-256 of the file, without
        evidence that is missing or damaged."""
        with self._engine.begin() as connection:
            latest = submissions.find_latest(connection, list(files))
        is_whole = self.evidence_files.is_whole
        return {file: digest for file, (digest, size) in latest.items() if is_whole(digest, size)}

    def shared_files(self) -> frozenset[str]:
        """Returns the SHA-256 of each file that several students have handed in."""
        with self._engine.begin() as connection:
            return submissions.find_shared_files(connection)

    def executions(self, submission_sha256: str) -> Iterator[tuple[str, Evidence]]:
        """Yields the SHA-256 of each evidence of a file, and the evidence, the latest first,
        without evidence that is missing or damaged."""
        with self._engine.begin() as connection:
            found = submissions.find_executions(connection, submission_sha256)
        for digest, size in dict(found).items():
            if self.evidence_files.is_whole(digest, size):
                yield digest, self.evidence_files.read(digest, size)

    # Grades

    def begin_run(self, why: str) -> int:
        """Starts a run and returns its number, under which grades are stored."""
        with self._write_transaction() as connection:
            return self._begin_run(connection, why, ENGINE)

    def put_grade(self, grade: Grade, *, run: int) -> bool:
        """Stores a grade. Returns whether it was new and is now the student's current one.

        A grade equal to the current one is not stored again. Raises SetupError if the student is
        not in the gradebook.
        """
        with self._write_transaction() as connection:
            return rows.file_grades(connection, [grade], run=run, at=now()) == 1

    def put_grades(self, grades: Iterable[Grade], *, why: str, by: str = ENGINE) -> int:
        """Stores *grades* under one run, all or none. Returns how many were new."""
        with self._write_transaction() as connection:
            run = self._begin_run(connection, why, by)
            return rows.file_grades(connection, grades, run=run, at=now())

    def withdraw_grade(self, student: str, *, by: str, why: str) -> bool:
        """Withdraws the current grade of *student*, but keeps the history. Returns whether there
        was one."""
        with self._write_transaction() as connection:
            had_grade = rows.withdraw_grade(connection, student)
            if had_grade:
                self._log_action(connection, "grade withdrawn", by, why, {"student": student})
        return had_grade

    def grades(self, students: Collection[str] | None = None) -> Iterator[Grade]:
        """Yields the current grade of every student that has one, or of *students*, sorted by
        student ID.

        Grades are read one at a time, so a class of any size needs little memory.
        """
        which = rows.is_current(students)
        with self._engine.begin() as connection:
            for filed in rows.read_grades(connection, which):
                yield filed.grade

    def grade_heads(self) -> dict[str, tuple[str, str | None]]:
        """Returns a digest of each current grade and its file's SHA-256, by student ID, a hundred
        times faster than the grades."""
        with self._engine.begin() as connection:
            heads = rows.read_digests(connection, rows.is_current())
            return {student: (digest, file) for student, digest, file in heads}

    def open_marks(self) -> list[tuple[str, Mark]]:
        """Returns the student and the mark for each open mark in the current grades, by student."""
        with self._engine.begin() as connection:
            return list(rows.read_open_marks(connection))

    def grade(self, student: str) -> Grade | None:
        """Returns the student's current grade, or None."""
        grades = list(self.grades([student]))
        return grades[0] if grades else None

    def attempt_grades(self, *, of_several: bool = False) -> tuple[Grade, ...]:
        """Returns the newest grade of each file, only of students with several if *of_several*."""
        with self._engine.begin() as connection:
            grades = rows.read_grades(connection, rows.attempts_condition(of_several=of_several))
            return tuple(filed.grade for filed in grades)

    def attempt_heads(self) -> list[tuple[str, str, str | None]]:
        """Returns student, digest, and file of each grade in `attempt_grades(of_several=True)`."""
        with self._engine.begin() as connection:
            return list(rows.read_digests(connection, rows.attempts_condition(of_several=True)))

    def history(self, student: str) -> tuple[FiledGrade, ...]:
        """Returns every grade that the student ever had, oldest first."""
        with self._engine.begin() as connection:
            return tuple(rows.read_grades(connection, schema.grades.c.student == student))

    def _begin_run(self, connection: Connection, why: str, by: str) -> int:
        line = {"at": now(), "why": why}
        query = insert(schema.runs).returning(schema.runs.c.number)
        number = int(connection.execute(query, line).scalar_one())
        self._log_action(connection, "grading run", by, why, {"run": number})
        return number

    # Manual changes

    def put_overrides(self, batch: Sequence[Override]) -> None:
        """Stores manual points, all or none, in place of earlier ones for the same marks."""
        overrides.require_possible(batch)
        with self._write_transaction() as connection:
            for override in batch:
                before = overrides.store_override(connection, override)
                detail: dict[str, object] = {"student": override.student, "name": override.name}
                detail |= {"points": override.points, "before": before}
                self._log_action(connection, "override set", override.by, override.reason, detail)
            decision_rows.store_overrides(connection, batch)

    def withdraw_override(self, student: str, name: str, *, by: str, why: str) -> bool:
        """Withdraws an override, so that the engine's points count again. Returns whether there was
        one."""
        with self._write_transaction() as connection:
            before = overrides.delete_override(connection, student, name)
            if before is not None:
                decision_rows.withdraw_decisions(connection, student, name)
                detail = {"student": student, "name": name, "before": before}
                self._log_action(connection, "override withdrawn", by, why, detail)
        return before is not None

    def overrides(self, students: Collection[str] | None = None) -> tuple[Override, ...]:
        """Returns all current overrides, or those of *students*, sorted by student and mark."""
        with self._engine.begin() as connection:
            return tuple(overrides.read_overrides(connection, students))
