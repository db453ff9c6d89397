"""`grader desk`: the web application in which people grade."""

from __future__ import annotations

import getpass
import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, COURSE, PORT, open_bank
from grader.cli.parameters import FILE, option, subcommand
from grader.errors import SetupError

if TYPE_CHECKING:
    from grader.course.staff import StaffFile
    from grader.web.desk.access import Entrance
    from grader.web.desk.hub import HubService

_HOST = re.compile(r"[\w.-]+|\[?[0-9A-Fa-f:]+\]?")


@subcommand(
    "desk",
    "grader desk results",
    "grader desk results --anonymous",
    "grader desk results --course course.yaml --accounts private/accounts.json --port 8000 "
    "--proxy 127.0.0.1 --name grading.example.edu",
)
def command(
    results: Path,
    port: int = PORT,
    host: str = option("127.0.0.1", metavar="ADDRESS", help="Address to listen on."),
    names: tuple[str, ...] = option(
        (),
        "--name",
        metavar="HOST",
        help="Hostname that browsers use for this machine. Repeat for more names.",
    ),
    me: str | None = option(
        None, "--as", metavar="NAME", help="Your name. Default: your user name."
    ),
    anonymous: bool = option(False, help="Show pseudonyms instead of names."),
    accounts: Path | None = option(
        None, type=FILE, help="Let the staff sign in with passwords, whose hashes are in this file."
    ),
    proxies: tuple[str, ...] = option(
        (),
        "--proxy",
        metavar="ADDRESS",
        help="Address of a TLS proxy in front of the desk, whose headers are trusted. Repeat for "
        "more.",
    ),
    hub: bool = option(False, help="Run as a service of a JupyterHub, which signs people in."),
    course_file: Path | None = COURSE,
    banks: tuple[str, ...] = BANKS,
) -> None:
    """Grade explanations, change marks, and view students' work in a browser.

    Prints a link for you alone. With --course, prints a link for each staff member, with the rights
    of that person's role. With --accounts, people sign in with a password instead; to invite them,
    run `grader course invite`.
    """
    from grader.course import load_course, named_course
    from grader.course.staff import StaffFile

    try:
        from grader.web.desk.app import DeskApp
        from grader.web.prefix import BelowPrefix
        from grader.web.serving import LOOPBACK, choose_port, host_in_url, serve
    except ModuleNotFoundError as error:
        raise SetupError(
            f"the desk needs the package '{error.name}'", fix="run `pip install starlette uvicorn`"
        ) from error
    from grader.web.desk.hub import hub_service
    from grader.web.desk.pages import Desk

    path = named_course(course_file) if course_file else None
    service = hub_service(os.environ) if hub else None
    host, port = service.listens_on if service else (host, port)
    access = _DeskAccess(
        results=results,
        accounts=accounts,
        service=service,
        is_local=host in LOOPBACK,
        proxies=proxies,
        names=names,
    )
    access.check(path)
    course = load_course(path) if path else None
    entrance = access.entrance(StaffFile(path) if path else None, me or getpass.getuser())
    desk = Desk(
        out=results, anonymous=anonymous or bool(course and course.anonymous), course=course
    )
    port = choose_port(host, port)
    hosts = tuple(map(host_in_url, (*LOOPBACK, *names)))
    app = DeskApp(desk, entrance, open_bank(banks), hosts, secure=bool(proxies))
    shown_host = host_in_url(names[0] if names else host)
    home = f"https://{shown_host}" if proxies and names else f"http://{shown_host}:{port}"
    _print_addresses(entrance, home)
    asgi = BelowPrefix(app.asgi, service.prefix) if service else app.asgi
    serve(asgi, host, port, proxies)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeskAccess:
    """How people reach the desk and sign in."""

    results: Path
    accounts: Path | None
    service: HubService | None
    is_local: bool
    proxies: tuple[str, ...]
    names: tuple[str, ...]

    def check(self, course: Path | None) -> None:
        """Raises SetupError if the options don't fit each other."""
        if wrong := [name for name in self.names if not _HOST.fullmatch(name)]:
            raise SetupError(
                f"'{wrong[0]}' is not a hostname",
                fix="write it without https:// and a port, such as --name grading.example.edu",
            )
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy, strict=False)
            except ValueError:
                raise SetupError(
                    f"'{proxy}' is not the address of a proxy",
                    fix="write an IP address or a network, such as 127.0.0.1 or 10.0.0.0/8",
                ) from None
        if not self.is_local and not self.names:
            raise SetupError(
                "with this --host, the desk needs to know this machine's name",
                fix="add --name HOST, with the name that people open in their browsers",
            )
        if (self.accounts or self.service) and course is None:
            option = "--hub" if self.service else "--accounts"
            raise SetupError(
                f"with {option}, the desk needs to know the staff",
                fix="list the staff in a course file, and add --course FILE",
            )
        if self.accounts and self.service:
            raise SetupError("--accounts and --hub can't be used together", fix="use one of them")
        if self.accounts and self.accounts.resolve().is_relative_to(self.results.resolve()):
            raise SetupError(
                "the results folder is no place for the staff's accounts",
                where=str(self.accounts),
                fix="choose a folder that no student gets anything from",
            )
        if self.accounts and not self.is_local and not self.proxies:
            raise SetupError(
                "passwords need an encrypted connection",
                fix="put a TLS proxy in front of the desk, and add --proxy ADDRESS",
            )

    def entrance(self, staff: StaffFile | None, me: str) -> Entrance:
        """Returns the way to sign in."""
        from grader.web.desk.access import StaffAccess, one_person
        from grader.web.desk.accounts import AccountFile
        from grader.web.desk.hub import Hub
        from grader.web.desk.sign_in import Accounts

        if staff is None:
            return one_person(me)
        if self.service is not None:
            return Hub(staff, self.service)
        if self.accounts is not None:
            return Accounts(staff, AccountFile(self.accounts))
        return StaffAccess(staff)


def _print_addresses(entrance: Entrance, home: str) -> None:
    """Prints each person's link, or where to sign in and who has no password yet."""
    from grader.web.desk.access import AccessLinks
    from grader.web.desk.sign_in import Accounts

    if isinstance(entrance, AccessLinks):
        several = len(entrance.people) > 1
        for token, person in entrance.people.items():
            address = f"{home}/enter?token={token}"
            click.echo(f"{person.id}: {address}" if several else address)
        click.echo("Press Ctrl-C to stop. Until then, the links are valid.", err=True)
        return
    waiting = entrance.without_password() if isinstance(entrance, Accounts) else ()
    click.echo(home)  # only now, since the file of accounts may have errors
    if waiting:
        people = ", ".join(waiting)
        click.echo(
            f"No password yet: {people}. To invite them, run `grader course invite`.", err=True
        )
    click.echo("Press Ctrl-C to stop.", err=True)
