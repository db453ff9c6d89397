"""The tables of the gradebook in SQLAlchemy Core."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    event,
)
from sqlalchemy import Text as _Text

VERSION = 2
"""Increases with each change that earlier versions of the grader can't use; see `migrations`."""

# Sorted by code point, whatever the language of the database.
Text = _Text().with_variant(_Text(collation="C"), "postgresql")

metadata = MetaData()


def _required_texts(*names: str) -> list[Column[str]]:
    """Returns columns of text that are never null."""
    return [Column(name, Text, nullable=False) for name in names]


schema_version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))

settings = Table(
    "settings",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),  # JSON
)

students = Table(
    "students",
    metadata,
    Column("id", Text, primary_key=True),
    *_required_texts("name", "email", "section"),
)

submissions = Table(
    "submissions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("student", Text, ForeignKey("students.id"), nullable=False),
    *_required_texts("sha256", "path"),
    Column("received", Text),
    Column("refusal", Text),
    Column("added", Text, nullable=False),
    Column("seen", Integer, nullable=False, index=True),  # increases each time it is handed in
    UniqueConstraint("student", "sha256", "path"),
)

# When files were handed in, according to somebody whom a student can't influence.
times = Table(
    "times",
    metadata,
    Column("student", Text, ForeignKey("students.id"), primary_key=True),
    Column("sha256", Text, primary_key=True),  # of the file; empty: of every file without its own
    Column("received", Text),
    Column("source", Text, nullable=False),
    Column("by", Text, nullable=False),  # the member of the staff who handed it in; else empty
    Column("started", Text),
)

evidence = Table(
    "evidence",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("submission_sha256", Text, nullable=False, index=True),
    Column("fingerprint", Text, nullable=False),
    Column("digest", Text, nullable=False),  # of the file's bytes, and its name
    Column("size", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("note", Text),
    Column("failed_cells", Integer, nullable=False),
    Column("first_error", Text),
    Column("stored", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("number", Integer, primary_key=True),
    *_required_texts("at", "why"),
)

# A class shares a few environments, so each is stored once.
environments = Table(
    "environments",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("json", Text, nullable=False),
)

grades = Table(
    "grades",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("run", Integer, ForeignKey("runs.number"), nullable=False),
    Column("student", Text, ForeignKey("students.id"), nullable=False),
    Column("exam", Text, nullable=False),
    Column("submission_sha256", Text),
    *_required_texts("engine", "release"),
    Column("environment", Text, ForeignKey("environments.digest"), nullable=False),
    Column("digest", Text, nullable=False),  # of everything in the grade
    Column("at", Text, nullable=False),
    Column("current", Boolean, nullable=False),
)

Index(
    "one_current_grade_a_student",
    grades.c.student,
    unique=True,
    sqlite_where=grades.c.current.is_(True),
    postgresql_where=grades.c.current.is_(True),
)
Index("grades_of_a_student", grades.c.student, grades.c.number)

# Data about a question; the class shares it, so marks refer to it.
asked = Table(
    "asked",
    metadata,
    Column("number", Integer, primary_key=True),
    *_required_texts("problem", "part", "name", "kind"),
    Column("max_points", Float, nullable=False),
    UniqueConstraint("problem", "part", "name", "kind", "max_points"),
)

marks = Table(
    "marks",
    metadata,
    Column("grade", Integer, ForeignKey("grades.number"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("asked", Integer, ForeignKey("asked.number"), nullable=False),
    Column("points", Float),  # null while unsettled
    Column("verdict", Text, nullable=False),
    Column("mistake", Text),
    Column("answer", Text),
    Column("feedback", Text, nullable=False),
    sqlite_with_rowid=False,  # stored in the order of reading
)

# For people who open the file with other tools.
event.listen(
    metadata,
    "after_create",
    DDL(  # type: ignore[no-untyped-call]
        "CREATE VIEW current_marks AS SELECT g.student, a.problem, a.part, a.name, a.kind,"
        " m.points, a.max_points, m.verdict, m.mistake, m.answer, m.feedback"
        " FROM grades g JOIN marks m ON m.grade = g.number JOIN asked a ON a.number = m.asked"
        " WHERE g.current"
    ),
)

overrides = Table(
    "overrides",
    metadata,
    Column("student", Text, ForeignKey("students.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("points", Float, nullable=False),
    *_required_texts("reason", "by", "at"),
)

rubric_items = Table(
    "rubric_items",
    metadata,
    Column("number", Integer, primary_key=True),
    *_required_texts("problem", "part", "text"),
    Column("points", Float, nullable=False),
    Column("feedback", Text, nullable=False),
    Column("retired", Boolean, nullable=False),
)

# People's decisions; rows are only added, and marked as undone.
decisions = Table(
    "decisions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("batch", Integer, nullable=False),
    Column("student", Text, ForeignKey("students.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("choice", Text, nullable=False),  # JSON
    Column("points", Float, nullable=False),
    Column("engine_points", Float),
    *_required_texts("by", "at"),
    Column("undone", Boolean, nullable=False),
)
Index("decisions_of_an_answer", decisions.c.student, decisions.c.name)

# What people gave who grade the same answer independently; rows as in `decisions`.
independent_marks = Table(
    "independent_marks",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("batch", Integer, nullable=False, index=True),  # counted together with decisions
    *_required_texts("problem", "part"),
    Column("student", Text, ForeignKey("students.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),  # digest of the answer that was read
    Column("choice", Text, nullable=False),  # JSON
    Column("max_points", Float, nullable=False),
    *_required_texts("by", "at"),
    Column("undone", Boolean, nullable=False),
)
Index("marks_of_an_answer", independent_marks.c.student, independent_marks.c.name)

# Students' requests for a regrade, and the answers of the staff; an answer may be marked as undone.
requests = Table(
    "requests",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("student", Text, ForeignKey("students.id"), nullable=False),
    *_required_texts("name", "text"),
    Column("points", Float),
    Column("at", Text, nullable=False),
    UniqueConstraint("student", "name", "text"),
)

request_answers = Table(
    "request_answers",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("request", Integer, ForeignKey("requests.number"), nullable=False, index=True),
    *_required_texts("outcome", "reply", "by", "at"),
    Column("batch", Integer, index=True),  # of the decision that changed the mark
    Column("undone", Boolean, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True),
    *_required_texts("at", "what", "who", "why"),
    Column("detail", Text, nullable=False),  # JSON
)

# What can be computed again, under a digest of everything that determines it.
derived = Table(
    "derived",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

_REFUSE = """CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit log only grows'; END $$"""
_GUARD = """CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
EXECUTE FUNCTION refuse_audit_change()"""
AUDIT_GUARDS = {
    "sqlite": tuple(
        f"CREATE TRIGGER audit_refuses_{deed.lower()} BEFORE {deed} ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END"
        for deed in ("UPDATE", "DELETE")
    ),
    "postgresql": (_REFUSE, _GUARD),
}
"""The statements, by database, that make the audit log refuse changes."""
NO_AUDIT_GUARDS = {
    "sqlite": ("DROP TRIGGER audit_refuses_update", "DROP TRIGGER audit_refuses_delete"),
    "postgresql": ("DROP TRIGGER audit_only_grows ON audit",),
}
for _dialect, _statements in AUDIT_GUARDS.items():
    for _statement in _statements:
        event.listen(
            audit,
            "after_create",
            DDL(_statement).execute_if(dialect=_dialect),  # type: ignore[no-untyped-call]
        )
