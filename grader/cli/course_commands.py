"""`grader course`: dates, late policies, attempts, people, and exceptions."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.completion import complete_ids
from grader.cli.options import BANKS, COURSE, JSON, open_bank, print_json, table
from grader.cli.parameters import FILE, argument, example_lines, option, subcommand
from grader.errors import GraderError, SetupError
from grader.registry import suggest
from grader.text.words import count_of, points

if TYPE_CHECKING:
    from grader.grading.attempts import CourseToApply
    from grader.grading.late_list import LateLine
    from grader.model.course import Course


@click.group("course", epilog=example_lines("grader course check", "grader course late results"))
def command() -> None:
    """Check the course file, invite the staff, grant exceptions, and list late submissions."""


@subcommand("check", "grader course check --course course.yaml", group=command)
def check_command(
    course_file: Path | None = COURSE, banks: tuple[str, ...] = BANKS, as_json: bool = JSON
) -> int:
    """Check the course file, and print its dates.

    If the file names the release or the results of a set, also checks the students of exceptions.
    Exits 1 if an exception names an unknown student.
    """
    from grader.course import load_course, set_dates

    path = require_course(course_file, banks)
    course = load_course(path)
    dates = set_dates(course)
    unknown = [
        print_unknown_students(course, id_, students)
        for id_ in course.sets
        if (students := _read_students(course, id_, path.parent)) is not None
    ]
    status = 1 if any(unknown) else 0
    if as_json:
        print_json(
            {
                "course": course.id,
                "sets": dates,
                "staff": {id_: person.role.value for id_, person in course.staff.items()},
                "grants": len(course.grants),
            }
        )
        return status
    rows = [
        (id_, *(instants[name] or "-" for name in ("opens", "due", "closes", "feedback")))
        for id_, instants in dates.items()
    ]
    click.echo(f"{course.title or course.id}: times in {course.time_zone}\n")
    click.echo(table(("set", "opens", "due", "closes", "feedback"), rows))
    people = count_of(len(course.staff), "person", "people")
    click.echo(f"\n{people} on the staff, {count_of(len(course.grants), 'exception')}.")
    return status


def _read_students(course: Course, set_id: str, home: Path) -> Collection[str] | None:
    """Returns the ids of the students of a set, from its release or its results; None if the
    course file names neither, or they can't be read."""
    from grader.grading.course_change import set_and_students
    from grader.release.file import load_release

    course_set = course.sets[set_id]
    with suppress(GraderError):
        if course_set.release is not None:
            return load_release(home / course_set.release).students
        if course_set.results is not None:
            return set_and_students(home / course_set.results)[1]
    return None


@subcommand(
    "invite",
    "grader course invite --accounts private/accounts.json --address https://grading.example.edu",
    "grader course invite kim --accounts private/accounts.json "
    "--address https://grading.example.edu",
    group=command,
    short_help="Invite staff members to choose a password.",
)
def invite_command(
    people: tuple[str, ...] = argument(metavar="[PERSON]..."),
    accounts: Path = option(
        type=FILE, help="File with the accounts. It is created if it does not exist."
    ),
    address: str = option(metavar="URL", help="Address of the desk in people's browsers."),
    days: int = option(7, least=1, most=90, help="Days until an invitation expires."),
    course_file: Path | None = COURSE,
    banks: tuple[str, ...] = BANKS,
) -> None:
    """Print links with which staff members choose a password for the desk.

    Invites everybody who has no password yet, or the people that you name. Their previous passwords
    and invitations stop working immediately.
    """
    from grader.course import load_course
    from grader.web.desk.accounts import AccountFile

    staff = load_course(require_course(course_file, banks)).staff
    if unknown := [id_ for id_ in people if id_ not in staff]:
        raise SetupError(
            f"the course has no staff member '{unknown[0]}'",
            fix=suggest(unknown[0], staff, "list the person under 'staff:' in the course file"),
        )
    if not address.startswith(("http://", "https://")):
        raise SetupError(
            f"'{address}' is not an address", fix="write one such as https://grading.example.edu"
        )
    file = AccountFile(accounts)
    invited = people or [id_ for id_ in staff if not file.password_of(id_)]
    tokens = file.invite(invited, time.time(), days)
    for id_, token in tokens.items():
        click.echo(f"{id_}: {address.rstrip('/')}/invitation?token={token}")
    if tokens:
        text = f"Send each link only to that person. The links expire in {count_of(days, 'day')}."
    else:
        text = "Everybody on the staff has a password."
    click.echo(text, err=True)


@subcommand(
    "grant",
    "grader course grant ada --set midterm --until '2026-10-07 23:59' --why illness --by kim",
    "grader course grant --section B --set midterm --time 1.5 --why 'fire alarm' --by kim",
    "grader course grant ada --set midterm --exempt --why 'transfer credit' --by kim",
    group=command,
    short_help="Grant a student or a section an exception.",
)
def grant_command(
    student: str | None,
    section: str | None = option(
        None, metavar="ID", help="Section to grant it to, instead of a student."
    ),
    set_id: str | None = option(
        None, "--set", metavar="ID", help="Set it applies to. Default: all sets."
    ),
    until: str | None = option(
        None, metavar="TIME", help="A later due date, such as '2026-10-07 23:59'."
    ),
    time: float | None = option(
        None, metavar="FACTOR", help="Multiply the minutes of a timed set."
    ),
    attempts: int | None = option(None, least=1, help="Attempts allowed."),
    exempt: bool = option(False, help="Exempt from the set."),
    received: str | None = option(None, metavar="TIME", help="When the student handed it in."),
    why: str = option(metavar="TEXT", help="Reason, not shown to students."),
    by: str = option(metavar="NAME", help="Who grants it."),
    course_file: Path | None = COURSE,
    banks: tuple[str, ...] = BANKS,
) -> None:
    """Grant a student or a section an exception, and write it to the course file.

    To apply it to results that are already graded, run `grader score RESULTS --course FILE`.
    """
    from grader.course.grants import add_grant
    from grader.model.course import Grant

    path = require_course(course_file, banks)
    course = add_grant(
        path,
        Grant(
            student=student,
            section=section,
            set=set_id,
            until=until,
            time=time,
            attempts=attempts,
            exempt=exempt,
            received=received,
            why=why,
            by=by,
        ),
    )
    # Only this exception: others were granted before the student left, or were warned about.
    added = replace(course, grants=course.grants[-1:])
    for id_ in course.sets if set_id is None else (set_id,):
        if (students := _read_students(course, id_, path.parent)) is not None:
            print_unknown_students(added, id_, students)
    click.echo(f"Added to {path}. To preview the effect on results that are already graded, run")
    click.echo(f"grader score RESULTS --course {shlex.quote(str(path))} --dry-run")


complete_ids(grant_command)


@subcommand(
    "late",
    "grader course late results",
    "grader course late results --all",
    group=command,
    short_help="List late submissions and their deductions.",
)
def late_command(
    results: Path,
    everyone: bool = option(False, "--all", help="Also list on-time submissions."),
    as_json: bool = JSON,
) -> None:
    """List late submissions with their deductions, and submissions without a trusted time."""
    from grader.grading.late_list import list_lateness

    lines = list_lateness(results)
    shown = [line for line in lines if everyone or line.late or line.received is None]
    if as_json:
        print_json([asdict(one) for one in shown])
        return
    if shown:
        rows = [_late_row(one) for one in shown]
        header = ("student", "received", "source", "late by", "raw", "deduction", "total")
        click.echo(table(header, rows, right=(4, 5, 6)))
    late, unknown = sum(line.late for line in lines), sum(line.received is None for line in lines)
    click.echo(f"{late} of {count_of(len(lines), 'submission')} late.")
    if unknown:
        click.echo(
            f"{count_of(unknown, 'submission has', 'submissions have')} no trusted time, so "
            "nothing is deducted. Use `grader grade --times` or `grader course grant --received`.",
            err=True,
        )


def _late_row(line: LateLine) -> tuple[str, ...]:
    return (
        line.student,
        line.received or "unknown",
        line.source,
        line.late_by,
        points(line.raw),
        points(line.deduction),
        points(line.total),
    )


def print_unknown_students(course: Course, set_id: str, students: Collection[str]) -> int:
    """Writes a warning for each exception that names nobody among *students*; returns how many
    there are."""
    from grader.course.grants import unknown_students

    warnings = unknown_students(course, set_id, students)
    for text in warnings:
        click.echo(f"warning: {text}", err=True)
    return len(warnings)


def require_course(course_file: Path | None, banks: tuple[str, ...]) -> Path:
    """Returns the path of the course file. Raises SetupError if there is none."""
    path = find_course_path(course_file, banks)
    if path is None:
        fix = "write course.yaml beside problems/, or name a file with --course FILE"
        raise SetupError("there is no course file", fix=fix)
    return path


def find_course_path(course_file: Path | None, banks: tuple[str, ...]) -> Path | None:
    """Returns *course_file*, or else the course file beside a bank; None if there is none."""
    from grader.course import find_course

    return find_course(course_file, open_bank(banks).folders)


def course_to_apply(
    course_file: Path | None, times: Path | None, exam: Path, banks: tuple[str, ...]
) -> CourseToApply:
    """Returns the course, and the times of submission, that this run applies."""
    from grader.grading.attempts import CourseToApply

    if course_file is None and times is None:
        # Without loading what reads a course, for which most exams have no use.
        homes = open_bank(banks).folders
        if not any((folder / "course.yaml").is_file() for folder in homes):
            return CourseToApply()
    from grader.course import load_course, read_times
    from grader.course.times import find_zone
    from grader.grading.course_change import slip_days_used
    from grader.release.file import load_release

    path = find_course_path(course_file, banks)
    course = load_course(path) if path else None
    if course is not None and course.grants:
        release = load_release(exam)
        print_unknown_students(course, release.exam.id, release.students)
    zone = find_zone(course.time_zone if course else "UTC")
    used: dict[str, int] = {}
    if course is not None and path is not None and course.slip_days:
        used = slip_days_used(course, path, load_release(exam).exam.id)
    return CourseToApply(
        course=course, slip_days_used=used, times=read_times(times, zone) if times else ()
    )
