"""Reads tables of submission times, also those that Moodle and Gradescope export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from grader.course.times import TIME_FIX, TimeError, parse_time
from grader.errors import Location, SetupError
from grader.model.course import TimeLine, TimeSource
from grader.registry import suggest
from grader.text.csv_table import parse_rows

COLUMNS = ("student", "received", "file", "source", "by", "started")
_MOODLE_COLUMN = "last modified (submission)"
"""The column of Moodle's grading worksheet that has the times."""
_MOODLE_PEOPLE = ("id number", "username", "email address", "full name")
_CLOCKS = ("%I:%M %p", "%H:%M")
_DAYS = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y")
_GRADESCOPE_PEOPLE = (":sid", ":email", ":name")


def read_times(path: Path, zone: ZoneInfo) -> tuple[TimeLine, ...]:
    """Returns the lines of the file at *path*, whose times without an offset are in *zone*.

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
    if ":submitters:" in text and ":created_at:" in text:
        return _gradescope_lines(text, path)
    rows = parse_rows(text, str(path))
    titles = [cell.strip() for cell in rows[0][1]]
    if _MOODLE_COLUMN in (title.casefold() for title in titles):
        return _moodle_lines(rows, path, zone)
    _check_columns(titles, path)
    return tuple(
        _read_line(dict(zip(titles, row, strict=False)), path, number, zone)
        for number, row in rows[1:]
    )


def _check_columns(names: Sequence[str], path: Path) -> None:
    """Raises SetupError for an unknown or repeated column, or if there are no students or no
    times."""
    where = Location(str(path), 1)
    for name in names:
        if names.count(name) > 1:
            what, fix = f"two columns are named '{name}'", "rename or delete one of them"
            raise SetupError(what, where=where, fix=fix)
        if name not in COLUMNS:
            fix = suggest(name, COLUMNS, "known columns: " + ", ".join(COLUMNS))
            raise SetupError(f"unknown column '{name}'", where=where, fix=fix)
    if "student" not in names or not {"received", "started"} & set(names):
        fix = "add the columns 'student' and 'received'"
        raise SetupError("this table has no submission times", where=where, fix=fix)


def _read_line(line: Mapping[str, str], path: Path, number: int, zone: ZoneInfo) -> TimeLine:
    """Returns the *line* of a table, given by column."""
    where = Location(str(path), number)
    cells = {name: line.get(name, "").strip() for name in COLUMNS}
    if not cells["student"]:
        fix = "fill in 'student', or remove the line"
        raise SetupError("this row names no student", where=where, fix=fix)
    source = cells["source"] or TimeSource.PLATFORM.value
    if source not in {known.value for known in TimeSource}:
        fix = "use one of: " + ", ".join(known.value for known in TimeSource)
        raise SetupError(f"unknown source '{source}'", where=where, fix=fix)
    return TimeLine(
        student=cells["student"],
        where=where,
        file=cells["file"],
        received=_parse_cell(cells["received"], where, zone),
        source=TimeSource(source),
        by=cells["by"],
        started=_parse_cell(cells["started"], where, zone),
    )


def _parse_cell(text: str, where: Location, zone: ZoneInfo) -> datetime | None:
    """Returns the instant in a cell, or None if it is empty. Raises SetupError for other text."""
    if not text:
        return None
    try:
        return parse_time(text, zone, opening=True)
    except TimeError as error:
        raise SetupError(str(error), where=where, fix=TIME_FIX) from error


def _moodle_lines(
    rows: Sequence[tuple[int, Sequence[str]]], path: Path, zone: ZoneInfo
) -> tuple[TimeLine, ...]:
    """Returns the times in the *rows* of Moodle's grading worksheet, which begin with its header.

    They are local times, to the minute, in the language of the person who downloaded it. Raises
    SetupError, naming the line, for one that isn't in English.
    """
    titles = [cell.strip().casefold() for cell in rows[0][1]]
    people = [titles.index(name) for name in _MOODLE_PEOPLE if name in titles]
    column = titles.index(_MOODLE_COLUMN)
    return tuple(
        TimeLine(
            people=tuple(row[at].strip() for at in people if at < len(row) and row[at].strip()),
            where=Location(str(path), number),
            received=_moodle_time(row[column].strip(), Location(str(path), number), zone),
        )
        for number, row in rows[1:]
        if column < len(row) and row[column].strip() not in ("", "-")
    )


def _moodle_time(text: str, where: Location, zone: ZoneInfo) -> datetime:
    """Returns the instant of a time such as `Wednesday, 10 June 2026, 2:14 PM`."""
    _, _, rest = text.partition(", ")
    for day in _DAYS:
        for clock in _CLOCKS:
            try:
                local = datetime.strptime(rest, f"{day}, {clock}")
            except ValueError:
                continue
            try:
                return parse_time(f"{local:%Y-%m-%d %H:%M}", zone, opening=True)
            except TimeError as error:
                fix = "set time_zone: of the course to your time zone in Moodle"
                raise SetupError(str(error), where=where, fix=fix) from error
    fix = "set your language in Moodle to English, and download the worksheet again"
    raise SetupError(f"'{text}' is not a time in English", where=where, fix=fix)


def _gradescope_lines(text: str, path: Path) -> tuple[TimeLine, ...]:
    """Returns the time of each active submission's submitters in `submission_metadata.yml`."""
    try:
        data = yaml.load(text, Loader=_ruby_loader())  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise _not_gradescope(path) from error
    if not isinstance(data, dict):
        raise _not_gradescope(path)
    places = {line.partition(":")[0]: n for n, line in enumerate(text.splitlines(), start=1)}
    lines: list[TimeLine] = []
    for folder, entry in data.items():
        where = Location(str(path), places.get(str(folder), 1))
        lines += _iter_submitters(entry, where) if isinstance(entry, dict) else ()
    return tuple(lines)


def _not_gradescope(path: Path) -> SetupError:
    fix = "in Gradescope: Review Grades, Export Submissions; the file is in the zip"
    return SetupError("this is not Gradescope's submission_metadata.yml", where=str(path), fix=fix)


def _iter_submitters(entry: Mapping[str, Any], where: Location) -> Iterator[TimeLine]:
    """Yields the time of one submission for each of its submitters."""
    created = entry.get(":created_at")
    if isinstance(created, dict):  # as Rails writes a time with a zone
        created = created.get("utc")
    if not isinstance(created, datetime):
        raise SetupError(
            "this submission has no ':created_at:' that is a time",
            where=where,
            fix="export the submissions again",
        )
    received = created.replace(tzinfo=UTC) if created.tzinfo is None else created.astimezone(UTC)
    for person in entry.get(":submitters") or ():
        if not isinstance(person, dict):
            continue
        people = tuple(str(person[key]) for key in _GRADESCOPE_PEOPLE if person.get(key))
        yield TimeLine(people=people, where=where, received=received)


def _ruby_loader() -> type[Any]:
    """Returns a safe loader that ignores Ruby's tags."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def plain(loader: Any, _suffix: str, node: yaml.Node) -> object:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("!ruby/", plain)
    return Loader
