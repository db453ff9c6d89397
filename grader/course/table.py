"""Reads tables of submission times."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.course.times import TIME_FIX, TimeError, parse_time
from grader.errors import Location, SetupError
from grader.model.course import TimeSource
from grader.registry import nearest

_COLUMNS = ("student", "received", "file", "source", "by", "started")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """One line of a table of submission times."""

    student: str
    where: Location
    file: str = ""
    """The file's path or name; empty for all files of the student."""
    received: datetime | None = None
    source: TimeSource = TimeSource.PLATFORM
    by: str = ""
    started: datetime | None = None


def read_times(path: Path, zone: ZoneInfo) -> tuple[TimeLine, ...]:
    """Returns the lines of the CSV file at *path*; times without an offset are in *zone*.

    Columns: student, received and, where known, file, source (forge, platform, staff, commit or
    file; platform if empty), by (the member of the staff who handed it in) and started. Raises
    SetupError, naming the line, if one can't be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _check_columns(reader.fieldnames or (), path)
            return tuple(_read_line(line, path, reader.line_num, zone) for line in reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        what = getattr(error, "strerror", None) or "this is not a CSV file in UTF-8"
        fix = "name a table with the columns student and received"
        raise SetupError(what.lower(), where=str(path), fix=fix) from error


def _check_columns(columns: object, path: Path) -> None:
    names = [str(name) for name in columns] if isinstance(columns, (list, tuple)) else []
    where = Location(str(path), 1)
    for name in names:
        if name not in _COLUMNS:
            close = nearest(name, _COLUMNS)
            fix = f"did you mean '{close}'?" if close else "known columns: " + ", ".join(_COLUMNS)
            raise SetupError(f"unknown column '{name}'", where=where, fix=fix)
    if "student" not in names or not {"received", "started"} & set(names):
        fix = "add the columns 'student' and 'received'"
        raise SetupError("this table has no times of submission", where=where, fix=fix)


def _read_line(line: Mapping[str, str | None], path: Path, number: int, zone: ZoneInfo) -> TimeLine:
    where = Location(str(path), number)
    cells = {name: (line.get(name) or "").strip() for name in _COLUMNS}
    source = cells["source"] or TimeSource.PLATFORM.value
    if source not in {one.value for one in TimeSource}:
        fix = "one of: " + ", ".join(one.value for one in TimeSource)
        raise SetupError(f"unknown source '{source}'", where=where, fix=fix)
    return TimeLine(
        student=cells["student"],
        where=where,
        file=cells["file"],
        received=_time(cells["received"], where, zone),
        source=TimeSource(source),
        by=cells["by"],
        started=_time(cells["started"], where, zone),
    )


def _time(text: str, where: Location, zone: ZoneInfo) -> datetime | None:
    if not text:
        return None
    try:
        return parse_time(text, zone, opening=True)
    except TimeError as error:
        raise SetupError(str(error), where=where, fix=TIME_FIX) from error
