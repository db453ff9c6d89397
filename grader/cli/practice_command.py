"""`grader practice`: questions of the bank in a browser, with verdicts at once."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, sandbox_option

_FILE = Path("practice-progress.json")


@click.command(
    "practice",
    epilog=examples(
        "grader practice",
        "grader practice kv-cache-size",
        "grader practice midterm --minutes 30 --progress my-practice.json",
    ),
)
@click.argument("wanted", required=False, default="", metavar="[ID | SET]")
@click.option("--family", default="", metavar="FAMILY", help="Only problems of this family.")
@click.option(
    "--level",
    type=click.Choice(["recall", "apply", "analyze", "create"]),
    help="Only problems of this level.",
)
@click.option(
    "--concept", default="", metavar="CONCEPT", help="Only problems on this concept or topic."
)
@click.option(
    "--minutes",
    type=click.FloatRange(0, 10_000),
    default=0,
    metavar="MINUTES",
    help="How long to practice, in minutes. Default: no limit.",
)
@click.option(
    "--progress",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to continue from and to save the progress in. Default: nothing is saved.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port to listen on. Default: any free one.",
)
@sandbox_option
@bank_option
def command(
    wanted: str,
    family: str,
    level: str | None,
    concept: str,
    minutes: float,
    progress: Path | None,
    port: int,
    sandbox: str,
    banks: tuple[str, ...],
) -> None:
    """Practice problems in a browser, with the verdict and the worked solution at once.

    Prints a link. Problems that you miss return soon, with other numbers; problems that you solve
    return later. To save your progress, use --progress or the button on the page.
    """
    from grader.bank.folders import Bank
    from grader.bank.listing import read_heads
    from grader.errors import SetupError

    try:
        from grader.web.practice.app import PracticeApp
        from grader.web.serving import choose_port, serve
    except ModuleNotFoundError as error:
        raise SetupError(
            f"practice needs the package '{error.name}'",
            fix="run `pip install starlette uvicorn`",
        ) from error
    from grader.web.owner import OwnerAccess
    from grader.web.practice.record import load_progress
    from grader.web.practice.selection import Selection
    from grader.web.practice.session import Practice
    from grader.web.practice.spacing import Progress

    bank = Bank.open(banks)
    heads, _ = read_heads(bank)
    file = (progress or _FILE).absolute()
    known = load_progress(file) if progress and file.exists() else Progress()
    practice = Practice(bank=bank, heads=heads, file=file, progress=known, sandbox=sandbox)
    practice.saving = progress is not None
    choice = Selection(
        name=wanted, family=family, level=level or "", concept=concept, minutes=minutes
    )
    if choice != Selection():
        practice.start(choice)
    access = OwnerAccess()
    host = "127.0.0.1"
    port = choose_port(host, port)
    click.echo(f"http://{host}:{port}/enter?token={access.token}")
    click.echo("Press Ctrl-C to stop. Until then, the link is valid.", err=True)
    serve(PracticeApp(practice, access).asgi, host, port)
