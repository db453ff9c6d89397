"""Gradebooks of earlier versions: brought up to date, with nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from grader.errors import SetupError
from grader.gradebook import Gradebook, migrations, schema
from grader.gradebook.address import find_address
from grader.gradebook.engines import open_engine, writer
from grader.model import Override, Student

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "version-0.1.tar.xz"
_LATER = [table.name for table in migrations._LATER_TABLES]
FORMS = range(len(_LATER) + 1)
"""Schema 1 gained a table at a time, so there are gradebooks with the first n of them."""
GIVEN = Override(student="ada", name="q1", points=1.5, reason="argued well", by="kim", at="t")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)])
def at(request):
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").address()


def an_old_gradebook(folder, at, tables: int) -> None:
    """A gradebook as version 1 left it, with the first *tables* of the later tables."""
    with Gradebook.open(folder, create=True, at=at) as book:
        book.add_students([Student(id="ada", name="Ada")])
        book.put_overrides([GIVEN])
        with book._write_transaction() as connection:
            for name in reversed(_LATER[tables:]):
                schema.metadata.tables[name].drop(connection)
            for index in schema.submissions.indexes:
                index.drop(connection)
            connection.execute(text("UPDATE schema_version SET version = 1"))


def shape_of(folder) -> dict[str, Any]:
    """The tables, their columns and indexes, and the views of a gradebook."""
    engine = open_engine(find_address(folder))
    with engine.connect() as connection:
        there = inspect(connection)
        found: dict[str, Any] = {"views": sorted(there.get_view_names())}
        for table in sorted(there.get_table_names()):
            columns = [(c["name"], str(c["type"]), c["nullable"]) for c in there.get_columns(table)]
            indexes = sorted(
                (str(one["name"]), tuple(map(str, one["column_names"])), bool(one["unique"]))
                for one in there.get_indexes(table)
            )
            keys = sorted(
                (tuple(k["constrained_columns"]), k["referred_table"])
                for k in there.get_foreign_keys(table)
            )
            found[table] = columns, indexes, keys
    engine.dispose()
    return found


@pytest.mark.parametrize("tables", FORMS)
def test_every_form_of_schema_1_becomes_the_current_schema(tmp_path, at, tables, request):
    an_old_gradebook(tmp_path / "old", at, tables)
    with Gradebook.open(tmp_path / "old") as book:
        assert book.students() == {"ada": Student(id="ada", name="Ada")}
        assert book.overrides() == (GIVEN,)
        assert [line.what for line in book.audit()] == ["students added", "override set"]
        # Points given before there were decisions can be undone like decisions.
        assert len(book.decisions.history("ada")) == 1
    other = None if at is None else request.getfixturevalue("postgres").address()
    Gradebook.open(tmp_path / "new", create=True, at=other).close()
    assert shape_of(tmp_path / "old") == shape_of(tmp_path / "new")


def test_a_gradebook_that_version_0_1_wrote_becomes_the_current_schema(tmp_path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    Gradebook.open(tmp_path / "new", create=True).close()
    for name in ("midterm", "practice", "lab"):
        with Gradebook.open(tmp_path / name / "results") as book:
            assert len(list(book.grades())) == 3
        assert shape_of(tmp_path / name / "results") == shape_of(tmp_path / "new")


def test_a_newer_gradebook_is_refused_and_left_alone(tmp_path, at):
    Gradebook.open(tmp_path, create=True, at=at).close()
    engine = open_engine(find_address(tmp_path))
    with writer(engine).begin() as connection:
        connection.execute(
            text("UPDATE schema_version SET version = :v"), {"v": schema.VERSION + 1}
        )
    engine.dispose()
    before = shape_of(tmp_path)
    for create in (False, True):
        with pytest.raises(SetupError, match="a newer version"):
            Gradebook.open(tmp_path, create=create)
    assert shape_of(tmp_path) == before


def test_many_open_an_old_gradebook_at_once_and_it_is_migrated_once(tmp_path, at):
    an_old_gradebook(tmp_path, at, 0)
    failed = []

    def open_it():
        try:
            Gradebook.open(tmp_path).close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with Gradebook.open(tmp_path) as book:
        assert len(book.decisions.history("ada")) == 1


_KILLED_MEANWHILE = """
import os, signal, sys
from pathlib import Path
from grader.gradebook import Gradebook, migrations

def dies(*_):
    os.kill(os.getpid(), signal.SIGKILL)

migrations.store_overrides = dies
Gradebook.open(Path(sys.argv[1]))
"""


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_migration_that_is_killed_leaves_the_old_gradebook(tmp_path, at):
    an_old_gradebook(tmp_path, at, 0)
    before = shape_of(tmp_path)
    died = subprocess.run([sys.executable, "-c", _KILLED_MEANWHILE, str(tmp_path)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert shape_of(tmp_path) == before
    with Gradebook.open(tmp_path) as book:
        assert book.overrides() == (GIVEN,)
