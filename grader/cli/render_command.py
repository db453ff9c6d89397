"""`grader render`: a release."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json, progress


@click.command(
    "render",
    epilog=examples(
        "grader render midterm --roster roster.csv --out release",
        "grader render midterm --student ada --out release",
        "grader render midterm --roster roster.csv --out release   # again: adds new students",
    ),
)
@click.argument("exam", metavar="SET")
@click.option("--roster", type=click.Path(path_type=Path), help="CSV with a column 'id'.")
@click.option(
    "--student", "students", multiple=True, metavar="ID", help="A student; again for more."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where it goes.")
@click.option(
    "--private-key",
    metavar="TEXT",
    help="Draws the same numbers in every release made with it; random by default.",
)
@bank_option
@json_option
def command(
    exam: str,
    roster: Path | None,
    students: tuple[str, ...],
    out: Path,
    private_key: str | None,
    banks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a release: DIR/notebooks/STUDENT.ipynb for everyone, and the private DIR/release.json.

    Rendering into the same DIR again adds students; the release itself never changes.
    """
    from grader.errors import SetupError
    from grader.load import Bank, id_problem, load_roster
    from grader.model import Student
    from grader.pipeline import make_release, write_notebooks

    listed = list(load_roster(roster)) if roster else []
    known = {s.id.casefold() for s in listed}
    for name in dict.fromkeys(students):
        if name in {s.id for s in listed}:
            continue
        problem = id_problem(name, known)
        if problem:
            raise SetupError(problem, fix="give --student another id")
        known.add(name.casefold())
        listed.append(Student(id=name))
    if not listed:
        raise SetupError("nobody to render for", fix="give --roster FILE.csv or --student ID")
    made = make_release(Bank.open(banks), exam, tuple(listed), out, private_key)
    with progress("rendering", len(listed)) as done:
        written = write_notebooks(made.release, tuple(listed), out, Bank.open(banks), done)
    if as_json:
        print_json(
            {
                "release": str(out / "release.json"),
                "id": made.release.id,
                "set": made.release.exam.id,
                "notebooks": [str(p) for p in written],
                "notes": list(made.notes),
            }
        )
        return
    for note in made.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{len(written)} notebooks in {out / 'notebooks'}: hand these out.")
    click.echo(f"{out / 'release.json'} holds the answers: keep it private.")
