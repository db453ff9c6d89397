"""Reads times of submission from what Moodle and Gradescope export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from grader.course.times import TimeError, parse_time
from grader.errors import Location, SetupError
from grader.model.course import TimeLine

MOODLE_COLUMN = "last modified (submission)"
"""The column of Moodle's grading worksheet that has the times."""
_MOODLE_PEOPLE = ("id number", "username", "email address", "full name")
_CLOCKS = ("%I:%M %p", "%H:%M")
_DAYS = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y")
_GRADESCOPE_PEOPLE = (":sid", ":email", ":name")


def moodle_lines(
    rows: Sequence[tuple[int, Sequence[str]]], path: Path, zone: ZoneInfo
) -> tuple[TimeLine, ...]:
    """Returns the times in the *rows* of Moodle's grading worksheet, which begin with its header.

    They are local times, to the minute, in the language of the person who downloaded it. Raises
    SetupError, naming the line, for one that isn't in English.
    """
    titles = [cell.strip().casefold() for cell in rows[0][1]]
    people = [titles.index(name) for name in _MOODLE_PEOPLE if name in titles]
    column = titles.index(MOODLE_COLUMN)
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
    """Reads a time such as `Wednesday, 10 June 2026, 2:14 PM`."""
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


def is_gradescope(text: str) -> bool:
    """Returns whether *text* is that of Gradescope's `submission_metadata.yml`."""
    return ":submitters:" in text and ":created_at:" in text


def gradescope_lines(text: str, path: Path) -> tuple[TimeLine, ...]:
    """Returns the time of each submitter's active submission in `submission_metadata.yml`.

    Raises SetupError if it can't be read.
    """
    try:
        data = yaml.load(text, Loader=_ruby_loader())  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise _not_gradescope(path) from error
    if not isinstance(data, dict):
        raise _not_gradescope(path)
    places = {line.partition(":")[0]: n for n, line in enumerate(text.splitlines(), start=1)}
    found: list[TimeLine] = []
    for folder, one in data.items():
        where = Location(str(path), places.get(str(folder), 1))
        found += _submitters(one, where) if isinstance(one, dict) else ()
    return tuple(found)


def _not_gradescope(path: Path) -> SetupError:
    fix = "in Gradescope: Review Grades, Export Submissions; the file is in the zip"
    return SetupError("this is not Gradescope's submission_metadata.yml", where=str(path), fix=fix)


def _submitters(one: Mapping[str, Any], where: Location) -> Iterator[TimeLine]:
    created = one.get(":created_at")
    if isinstance(created, dict):  # as Rails writes a time with a zone
        created = created.get("utc")
    if not isinstance(created, datetime):
        raise SetupError(
            "this submission has no ':created_at:' that is a time",
            where=where,
            fix="export the submissions again",
        )
    received = created.replace(tzinfo=UTC) if created.tzinfo is None else created.astimezone(UTC)
    for person in one.get(":submitters") or ():
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
