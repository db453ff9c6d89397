"""Brings gradebooks of version 1 up to date."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, update

from grader.gradebook import schema
from grader.gradebook.decision_rows import store_overrides
from grader.gradebook.overrides import read_overrides

OLDEST = 1

_LATER_TABLES = (
    schema.derived, schema.times, schema.rubric_items, schema.decisions, schema.requests,
    schema.request_answers, schema.independent_marks,
)  # fmt: skip


def migrate(connection: Connection) -> None:
    """Updates version 1 to 2: adds the tables that version 1 gained over time, and the index of
    `submissions`. A process that is killed meanwhile leaves the gradebook as it was.

    From version 2 on, evidence is compressed, which version 1 can't read.
    """
    existing = set(inspect(connection).get_table_names())
    missing = [table for table in _LATER_TABLES if table.name not in existing]
    for table in missing:  # not by the metadata, which would create the view once more
        table.create(connection, checkfirst=True)
    for index in schema.submissions.indexes:
        index.create(connection, checkfirst=True)
    if schema.decisions in missing:
        store_overrides(connection, list(read_overrides(connection)))
    connection.execute(update(schema.schema_version).values(version=schema.VERSION))
