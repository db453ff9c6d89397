"""`grader render`, `key`, and `solve`: a release and what an instructor reads from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, JSON, RELEASE, open_bank, print_json, print_notes, table
from grader.cli.parameters import argument, option, subcommand
from grader.cli.progress import progress
from grader.errors import SetupError
from grader.model.grouping import group_by_key
from grader.text.words import count_of, points

if TYPE_CHECKING:
    from grader.integrations.paper.printing import PrintResult
    from grader.model import Release, Student
    from grader.release.rendering import MadeRelease


@subcommand(
    "render",
    "grader render midterm --roster roster.csv --out release",
    "grader render midterm --student ada --out release",
    "grader render midterm --roster roster.csv --out release   # again: adds new students",
    "grader render midterm --roster roster.csv --shared --out release   # one version for all",
    "grader render midterm --format html --versions 6 --out paper",
)
def render_command(
    exam: str = argument(metavar="SET"),
    roster: Path | None = option(
        None,
        metavar="FILE",
        help="CSV file with a column 'id', one row per student. Students with the same 'version' "
        "share their numbers.",
    ),
    students: tuple[str, ...] = option(
        (), "--student", metavar="ID", help="Render for this student. Repeat for more students."
    ),
    out: Path = option(
        metavar="DIR",
        help="Folder for the release. If it contains a release of this set already, students are "
        "added to it.",
    ),
    private_key: str | None = option(
        None,
        metavar="SECRET",
        help="Secret from which all numbers are drawn; random by default. Releases with the same "
        "key have the same numbers. Anyone who guesses it has every answer and can test guesses "
        "against any notebook, so make it long and random.",
    ),
    format_: str = option(
        "notebook",
        "--format",
        type=click.Choice(["notebook", "html"]),
        help="html: versions to print, with their keys and a sheet to type answers into.",
    ),
    versions: int | None = option(
        None,
        least=1,
        most=26,
        help="Distribute N versions (A, B, ...) evenly; versions in the roster are kept. With "
        "--format html: number of versions to print, 6 by default.",
    ),
    shared: bool = option(
        False, help="Give every student the same version; short for --versions 1."
    ),
    leave_out: bool = option(
        False, help="With --format html: drop parts that need a computer, and their points."
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Make a release: DIR/notebooks/STUDENT.ipynb for everyone, and the private DIR/release.json.

    Every student gets individual numbers unless students share versions: use a roster column
    `version`, --versions or --shared. DIR/versions/ then contains each version once, without a
    student's name. If you render into the same DIR again, new students are added and existing
    numbers stay the same. With --format html, versions to print are written instead
    (DIR/exam-A.html and so on); score the answers with `grader enter`.
    """
    from grader.release.rendering import make_release, write_notebooks
    from grader.release.roster import load_roster

    if shared and versions not in (None, 1):
        raise SetupError(
            f"--shared means one version, but --versions is {versions}", fix="use one of the two"
        )
    versions = 1 if shared else versions
    staff: list[str] = []
    listed = list(load_roster(roster, staff.append)) if roster else []
    for one in staff:
        click.echo(f"note: {one} gets no exam: staff by the roster's column 'role'", err=True)
    if format_ == "html":
        from grader.integrations.paper.printing import PRINTED, print_exam

        if students:
            raise SetupError(
                "--student can't be used with --format html", fix="use --roster instead"
            )
        on_paper = print_exam(
            open_bank(banks),
            exam,
            PRINTED if versions is None else versions,
            out,
            students=listed,
            private_key=private_key,
            leave_out=leave_out,
        )
        _print_paper(on_paper, out, as_json=as_json)
        return
    listed += _new_students(students, listed)
    if not listed:
        raise SetupError(
            "there are no students to render for", fix="add --roster FILE.csv or --student ID"
        )
    rendered = make_release(
        open_bank(banks), exam, tuple(listed), out, private_key, versions=versions
    )
    with progress("rendering", len(listed)) as done:
        written = write_notebooks(rendered.release, tuple(listed), out, open_bank(banks), done)
    if as_json:
        files = {
            "notebooks": [str(path) for path in written],
            "versions": _students_by_version(rendered.release),
        }
        print_json(_release_data(rendered, out, files))
        return
    print_notes(rendered.notes)
    click.echo(f"{count_of(len(written), 'notebook')} in {out / 'notebooks'}: hand these out.")
    if shares := _students_by_version(rendered.release):
        sizes = ", ".join(f"{name} for {len(students)}" for name, students in shares.items())
        click.echo(f"Versions in {out / 'versions'}, without names: {sizes}.")
    click.echo(f"{out / 'release.json'} contains the answers: keep it private.")


def _new_students(names: tuple[str, ...], listed: list[Student]) -> list[Student]:
    """Returns new students with the ids in *names*, without those already *listed*.

    Raises SetupError for an invalid id.
    """
    from grader.model import Student
    from grader.release.roster import id_key, id_problem

    folded_ids = {id_key(student.id): student.id for student in listed}
    new_students = []
    for name in dict.fromkeys(map(str.strip, names)):  # as in a roster
        if folded_ids.get(id_key(name)) == name:
            continue
        problem = id_problem(name, folded_ids) if name else "the student's id is empty"
        if problem:
            raise SetupError(problem, fix="use another id with --student")
        folded_ids[id_key(name)] = name
        new_students.append(Student(id=name))
    return new_students


def _release_data(made: MadeRelease, out: Path, files: Mapping[str, object]) -> dict[str, object]:
    """Returns what `--json` prints about a release; *files* names what was written besides it."""
    return {
        "release": str(out / "release.json"),
        "id": made.release.id,
        "set": made.release.exam.id,
        **files,
        "notes": list(made.notes),
    }


def _students_by_version(release: Release) -> dict[str, list[str]]:
    """Returns the ids of the students that share each version, by its name."""
    versions = ((one.version, one.id) for one in release.students.values() if one.version)
    return dict(sorted(group_by_key(versions).items()))


def _print_paper(done: PrintResult, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(_release_data(done, out, {"files": [str(path) for path in done.files]}))
        return
    print_notes(done.notes)
    versions = count_of(len(done.files) // 2, "version")
    click.echo(f"{versions} in {out}: print the files exam-*.html.")
    click.echo(f"key-*.html and release.json in {out} contain the answers: keep them private.")


@subcommand("key", "grader key release --student ada", "grader key release --student ada --json")
def key_command(
    release: Path = RELEASE,
    student: str = option(metavar="ID", help="Whose key to print."),
    as_json: bool = JSON,
) -> None:
    """Print one student's answer key, with units, points, and kinds. Keep it secret."""
    from grader.release.file import load_release
    from grader.release.rendering import key_data

    keys = key_data(load_release(release), student)
    if as_json:
        print_json(keys)
        return
    rows = [
        (name, str(k["kind"]), points(float(str(k["points"]))), _key_text(k))
        for name, k in keys.items()
    ]
    click.echo(table(("answer", "kind", "points", "key"), rows, right=(2,)))


def _key_text(key: dict[str, object]) -> str:
    return (
        f"{key['value']} {key['unit']}".strip() if key["value"] is not None else "graded manually"
    )


@subcommand("solve", "grader solve release --student ada --out ada.ipynb")
def solve_command(
    release: Path = RELEASE,
    student: str = option(metavar="ID", help="Whose notebook to fill in."),
    out: Path = option(metavar="NB", help="Notebook file to write."),
    banks: tuple[str, ...] = BANKS,
) -> None:
    """Write one student's notebook with every answer correct. Keep it secret."""
    from grader.release.file import load_release
    from grader.release.solved import solve

    loaded = load_release(release)
    folder = release if release.is_dir() else release.parent
    if out.resolve().parent == (folder / "notebooks").resolve():
        raise SetupError(
            "the notebooks in this folder are handed out, so they must not contain answers",
            where=str(out),
            fix="choose another folder for --out",
        )
    solve(loaded, student, out, open_bank(banks))
    click.echo(f"Wrote {out} with every answer filled in. Keep it private.")
