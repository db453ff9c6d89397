"""`grader practice`: questions of the bank in a browser, with verdicts at once."""

from __future__ import annotations

from pathlib import Path

import click

from grader.bank.listing import read_heads
from grader.cli.options import BANKS, PORT, SANDBOX, open_bank
from grader.cli.parameters import FILE, argument, option, subcommand
from grader.errors import SetupError

_FILE = Path("practice-progress.json")


@subcommand(
    "practice",
    "grader practice",
    "grader practice kv-cache-size",
    "grader practice midterm --minutes 30 --progress my-practice.json",
)
def command(
    wanted: str = argument("", metavar="[ID | SET]"),
    family: str = option("", metavar="FAMILY", help="Only problems of this family."),
    level: str | None = option(
        None,
        type=click.Choice(["recall", "apply", "analyze", "create"]),
        help="Only problems of this level.",
    ),
    concept: str = option("", metavar="CONCEPT", help="Only problems on this concept or topic."),
    minutes: float | None = option(
        None,
        least=0.1,
        most=10_000,
        metavar="MINUTES",
        help="How long to practice, in minutes. Default: no limit.",
    ),
    progress: Path | None = option(
        None,
        type=FILE,
        help="File to continue from and to save the progress in. Default: nothing is saved.",
    ),
    port: int = PORT,
    sandbox: str = SANDBOX,
    banks: tuple[str, ...] = BANKS,
) -> None:
    """Practice problems in a browser, with the verdict and the worked solution at once.

    Prints a link. Problems that you miss return soon, with other numbers; problems that you solve
    return later. To save your progress, use --progress or the button on the page.
    """
    try:
        from grader.web.practice.app import OwnerAccess, PracticeApp
        from grader.web.serving import choose_port, serve
    except ModuleNotFoundError as error:
        raise SetupError(
            f"practice needs the package '{error.name}'",
            fix="run `pip install starlette uvicorn`",
        ) from error
    from grader.web.practice.selection import Selection
    from grader.web.practice.session import Practice
    from grader.web.practice.spacing import Progress, load_progress

    bank = open_bank(banks)
    heads, _ = read_heads(bank)
    file = (progress or _FILE).absolute()
    saved_progress = load_progress(file) if progress and file.exists() else Progress()
    practice = Practice(bank=bank, heads=heads, file=file, progress=saved_progress, sandbox=sandbox)
    practice.saving = progress is not None
    choice = Selection(
        name=wanted, family=family, level=level or "", concept=concept, minutes=minutes or 0.0
    )
    if choice != Selection():
        practice.start(choice)
    access = OwnerAccess()
    host = "127.0.0.1"
    port = choose_port(host, port)
    click.echo(f"http://{host}:{port}/enter?token={access.token}")
    click.echo("Press Ctrl-C to stop. Until then, the link is valid.", err=True)
    serve(PracticeApp(practice, access).asgi, host, port)
