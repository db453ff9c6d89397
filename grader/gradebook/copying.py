"""Copies a gradebook, also between a file and a database, while others use it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Integer, Table, func, insert, select, text

from grader.errors import GraderError, SetupError
from grader.files import make_write_error
from grader.gradebook import schema
from grader.gradebook.address import (
    FILE,
    check_choice,
    display_address,
    find_address,
    parse_address,
    store_address,
)
from grader.gradebook.engines import writer
from grader.gradebook.evidence_files import EvidenceFiles
from grader.gradebook.evidence_places import choose_place, find_place, store_place
from grader.gradebook.opening import gradebook_exists, open_gradebook
from grader.gradebook.plain import storable

_CHUNK = 1000
_FILLED_ON_CREATION = schema.schema_version


@dataclass(frozen=True, slots=True, kw_only=True)
class GradebookPlace:
    """A gradebook, and the folder of its evidence."""

    url: URL
    folder: Path | None = None
    """None: the database alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    """The number of rows and of pieces of evidence in a copy."""

    rows: int
    evidence: int
    """Pieces of evidence, copied or in place already."""


def place_of(name: str, gradebook: str = "") -> GradebookPlace:
    """Returns the gradebook that *name* stands for: a results folder or a database's address.

    *gradebook* is the address of the database that a new folder is to use.
    """
    if "://" in name:
        return GradebookPlace(url=parse_address(name))
    folder = Path(name.removeprefix("sqlite:"))
    if folder.name == FILE:
        folder = folder.parent
    if gradebook:
        url = parse_address(gradebook)
        check_choice(folder, url)
        return GradebookPlace(url=url, folder=folder)
    return GradebookPlace(url=find_address(folder), folder=folder)


def copy_gradebook(
    source: GradebookPlace, target: GradebookPlace, *, evidence: str = ""
) -> CopyResult:
    """Copies everything in the gradebook *source* to the new gradebook *target*, and compares both.

    The copy is the state at one moment; others may go on reading and writing *source*. Between two
    folders, the evidence is copied as well, into the object store *evidence* if given.

    Raises SetupError if there is no source, or if there is a gradebook at *target*, and GraderError
    if the copy differs.
    """
    if evidence and not (source.folder and target.folder):
        raise SetupError(
            "--evidence is only for copies between two results folders",
            fix="name folders, or leave out --evidence",
        )
    if _is_used(target.url):
        raise SetupError(
            "there is a gradebook already",
            where=display_address(target.url),
            fix="choose another target; nothing was changed",
        )
    with _open(source.url) as read, read.begin() as from_:
        with _open(target.url, create=True) as written:
            with writer(written).begin() as to:
                rows = sum(_copy_table(table, from_, to) for table in schema.metadata.sorted_tables)
                if written.dialect.name == "postgresql":
                    _advance_counters(to)
            with written.begin() as to:
                _require_equal(from_, to, display_address(target.url))
        if target.folder and target.url.get_backend_name() != "sqlite":
            store_address(target.folder, target.url)
        digests = sorted(set(from_.scalars(select(schema.evidence.c.digest))))
    count = 0
    if source.folder and target.folder:
        pieces = EvidenceFiles(find_place(source.folder))
        place = choose_place(target.folder, evidence)
        if evidence:
            store_place(target.folder, place)
        # Evidence that is missing at the source was missing before; `grader grade` makes it anew.
        count = sum(pieces.copy_to(place, digest) for digest in digests)
    return CopyResult(rows=rows, evidence=count)


def switch_to_copy(source: GradebookPlace, target: GradebookPlace) -> Path:
    """Lets the results folder *source* use the database *target*. Returns the renamed old file.
    Raises SetupError if *source* is not a folder with a file, or *target* not a database."""
    file = source.folder and source.folder / FILE
    if file is None or source.url.get_backend_name() != "sqlite" or target.folder is not None:
        raise SetupError(
            "only a results folder with its own file can switch to a database",
            fix="leave out --switch; the gradebook was copied",
        )
    old = file.with_suffix(".before-copy.sqlite")
    store_address(source.folder or Path(), target.url)
    try:
        file.rename(old)
    except OSError as error:
        raise make_write_error(error, file) from error
    return old


@contextmanager
def _open(url: URL, *, create: bool = False) -> Iterator[Engine]:
    engine = open_gradebook(url, create=create)
    try:
        yield engine
    finally:
        engine.dispose()


def _is_used(url: URL) -> bool:
    """Returns whether there is content, unlike in the empty tables of a failed copy."""
    if not gradebook_exists(url):
        return False
    with _open(url) as engine, engine.begin() as connection:
        return any(
            connection.scalar(select(func.count()).select_from(table))
            for table in (schema.settings, schema.students, schema.audit)
        )


def _copy_table(table: Table, from_: Connection, to: Connection) -> int:
    """Copies all rows of *table*, and returns how many there were."""
    if table is _FILLED_ON_CREATION:
        return 0
    count = 0
    for chunk in _select_rows(table, from_).partitions(_CHUNK):
        lines = [_storable_line(dict(row._mapping)) for row in chunk]
        to.execute(insert(table), lines)
        count += len(lines)
    return count


def _select_rows(table: Table, connection: Connection) -> Any:
    query = select(table).order_by(*table.primary_key.columns)
    return connection.execute(query.execution_options(yield_per=_CHUNK))


def _storable_line(line: dict[str, object]) -> dict[str, object]:
    return {k: storable(v) if isinstance(v, str) else v for k, v in line.items()}


def _advance_counters(connection: Connection) -> None:
    """Lets PostgreSQL go on numbering after the rows that came with their numbers."""
    for table in schema.metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            continue
        last = connection.scalar(select(func.max(column)))
        if last is not None:
            connection.execute(
                text("SELECT setval(pg_get_serial_sequence(:table, :column), :last)"),
                {"table": table.name, "column": column.name, "last": last},
            )


def _require_equal(from_: Connection, to: Connection, where: str) -> None:
    """Raises GraderError, naming *where*, if a table of *to* differs from that of *from_*."""
    for table in schema.metadata.sorted_tables:
        if _digest_rows(table, from_) != _digest_rows(table, to):
            raise GraderError(
                f"the copy of the table '{table.name}' differs from its source",
                where=where,
                fix="keep using the source, delete the copy, and report this as a bug",
            )


def _digest_rows(table: Table, connection: Connection) -> str:
    """Returns a digest of all rows of *table*, in the form in which a copy stores them."""
    digest = hashlib.sha256()
    for row in _select_rows(table, connection):
        digest.update(repr(tuple(_storable_line(dict(row._mapping)).values())).encode())
    return digest.hexdigest()
