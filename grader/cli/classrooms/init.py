"""`grader classroom init`: the folders of a class."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json, progress


@click.command(
    "init",
    epilog=examples(
        "grader classroom init course --release release --owner my-org",
        "grader classroom init course --release release --owner my-org \\",
        "    --deadline 2026-12-01T23:59:00+01:00 --schedule '5 23 * * *'",
        "grader classroom init course --release release --host classroom50",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--release", required=True, type=click.Path(path_type=Path), metavar="DIR")
@click.option("--host", type=click.Choice(["github", "classroom50"]), default="github")
@click.option("--owner", default="", metavar="ORG", help="Whose the students' repositories are.")
@click.option("--url", default="", metavar="PATTERN", help="Their addresses, with {id} in it.")
@click.option("--notebook", default="", metavar="NAME", help="Default: SET.ipynb.")
@click.option("--deadline", default="", metavar="INSTANT", help="2026-12-01T23:59:00+01:00.")
@click.option("--schedule", default="", metavar="CRON", help="When to grade, in UTC.")
@click.option("--branch", default="main", show_default=True, metavar="NAME")
@click.option("--install", default="", metavar="PACKAGE", help="What pip installs.")
@click.option("--python", default="3.12", show_default=True, metavar="VERSION")
@click.option("--gpu-label", default="gpu", show_default=True, metavar="LABEL")
@click.option("--classroom", default="CLASSROOM", metavar="NAME", help="Of Classroom 50.")
@click.option("--assignment", default="", metavar="NAME", help="Of Classroom 50.")
@click.option(
    "--scale",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="What points are multiplied by for Classroom 50.",
)
@click.option(
    "--pack",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A sealed pack for Classroom 50's bundle.",
)
@bank_option
@json_option
def command(
    folder: Path,
    release: Path,
    pack: Path | None,
    banks: tuple[str, ...],
    as_json: bool,
    **wishes: str | int,
) -> None:
    """Write the repositories of a class into DIR.

    student-template/ is what an assignment starts from; students/ID/ is the same with that
    student's notebook; instructor/ collects and grades, and alone holds the release.
    """
    from grader.load import Bank, load_release
    from grader.load.repositories import instant
    from grader.pipeline.classrooms import Wishes, init_classroom

    if wishes["deadline"]:
        instant(str(wishes["deadline"]))
    total = len(load_release(release).students)
    with progress("writing", total) as done:
        made = init_classroom(
            release,
            folder,
            Wishes(**wishes),  # type: ignore[arg-type]
            Bank.open(banks),
            pack=pack,
            done=done,
        )
    if as_json:
        print_json({"folder": str(folder), "students": made.students, "notes": list(made.notes)})
        return
    for note in made.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{folder / 'student-template'}: what an assignment starts from; nothing secret")
    click.echo(f"{folder / 'students'}: the same with the notebook, for {made.students} students")
    if wishes["host"] == "classroom50":
        click.echo(f"{folder / 'classroom50'}: the bundle with autograder.py; nothing secret")
    click.echo(f"{folder / 'instructor'}: holds the answers: push it to a private repository only")
