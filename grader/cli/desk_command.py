"""`grader desk`: the web application in which people grade."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import bank_option, course_option, examples

if TYPE_CHECKING:
    from grader.desk.access import Access


@click.command(
    "desk",
    epilog=examples(
        "grader desk results",
        "grader desk results --anonymous",
        "grader desk results --course course.yaml --host 0.0.0.0 --name grading.example.edu",
    ),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on. Default: any free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="Hostname that browsers use for this machine. Repeat for more names.",
)
@click.option("--as", "me", metavar="NAME", help="Your name. Default: your user name.")
@click.option("--anonymous", is_flag=True, help="Show pseudonyms instead of names.")
@course_option
@bank_option
def command(
    results: Path,
    port: int,
    host: str,
    names: tuple[str, ...],
    me: str | None,
    anonymous: bool,
    course_file: Path | None,
    banks: tuple[str, ...],
) -> None:
    """Grade explanations, change marks, and view students' work in a browser.

    Prints a link for you alone. With --course, prints a link for each staff member, with the rights
    of that person's role.
    """
    from grader.bank.folders import Bank
    from grader.course import find_course, load_course
    from grader.desk.access import one_person, staff_access
    from grader.errors import SetupError

    try:
        from grader.desk.app import DeskApp
        from grader.web.serving import LOOPBACK, free_port, serve
    except ModuleNotFoundError as error:
        raise SetupError(
            f"the desk needs the package '{error.name}'",
            fix="run `pip install starlette uvicorn`",
        ) from error
    from grader.desk.pages import Desk

    path = find_course(course_file, ()) if course_file else None
    course = load_course(path) if path else None
    access = staff_access(course.staff) if course else one_person(me or getpass.getuser())
    if host not in LOOPBACK and not names:
        raise SetupError(
            f"with --host {host}, the desk needs to know this machine's name",
            fix="add --name HOST, with the name that people open in their browsers",
        )
    bank = Bank.open(banks)
    desk = Desk(
        out=results, anonymous=anonymous or bool(course and course.anonymous), course=course
    )
    port = port or free_port(host)
    app = DeskApp(desk, access, bank, (*LOOPBACK, *names))
    _print_links(access, names[0] if names else host, port)
    serve(app.asgi, host, port)


def _print_links(access: Access, host: str, port: int) -> None:
    several = len(access.people) > 1
    for token, person in access.people.items():
        address = f"http://{host}:{port}/enter?token={token}"
        click.echo(f"{person.id}: {address}" if several else address)
    click.echo("Press Ctrl-C to stop. Until then, the links are valid.", err=True)
