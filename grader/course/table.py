"""Reads tables of submission times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.course.platform_times import (
    MOODLE_COLUMN,
    gradescope_lines,
    is_gradescope,
    moodle_lines,
)
from grader.course.times import TIME_FIX, TimeError, parse_time
from grader.errors import Location, SetupError
from grader.model.course import TimeLine, TimeSource
from grader.registry import suggest
from grader.text.csv_table import parse_rows

COLUMNS = ("student", "received", "file", "source", "by", "started")


def read_times(path: Path, zone: ZoneInfo) -> tuple[TimeLine, ...]:
    """Returns the lines of the file at *path*; times without an offset are in *zone*.

    The file is Moodle's grading worksheet, Gradescope's `submission_metadata.yml`, or a CSV table
    with the columns student and received and, if known, file, source (forge, platform, staff,
    commit, or file; platform if empty), by (the staff member who handed it in), and started. Its
    content determines the format. If a line can't be read, raises SetupError or SpecError with it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "this is not a file in UTF-8"
        fix = "name a CSV file with the columns 'student' and 'received'"
        raise SetupError(what.lower(), where=str(path), fix=fix) from error
    if is_gradescope(text):
        return gradescope_lines(text, path)
    rows = parse_rows(text, str(path))
    titles = [cell.strip() for cell in rows[0][1]]
    if MOODLE_COLUMN in (title.casefold() for title in titles):
        return moodle_lines(rows, path, zone)
    _check_columns(titles, path)
    return tuple(
        _read_line(dict(zip(titles, row, strict=False)), path, number, zone)
        for number, row in rows[1:]
    )


def _check_columns(names: Sequence[str], path: Path) -> None:
    where = Location(str(path), 1)
    for name in names:
        if name not in COLUMNS:
            fix = suggest(name, COLUMNS, "known columns: " + ", ".join(COLUMNS))
            raise SetupError(f"unknown column '{name}'", where=where, fix=fix)
    if "student" not in names or not {"received", "started"} & set(names):
        fix = "add the columns 'student' and 'received'"
        raise SetupError("this table has no submission times", where=where, fix=fix)


def _read_line(line: Mapping[str, str], path: Path, number: int, zone: ZoneInfo) -> TimeLine:
    where = Location(str(path), number)
    cells = {name: line.get(name, "").strip() for name in COLUMNS}
    source = cells["source"] or TimeSource.PLATFORM.value
    if source not in {one.value for one in TimeSource}:
        fix = "use one of: " + ", ".join(one.value for one in TimeSource)
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
