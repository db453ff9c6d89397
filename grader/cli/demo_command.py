"""`grader demo`: a complete exam, from roster to report."""

from __future__ import annotations

import json
from pathlib import Path

import click

from grader.cli.options import JOBS, table
from grader.cli.parameters import FOLDER, option, subcommand
from grader.errors import SetupError


@subcommand("demo", "grader demo", "grader demo --out /tmp/demo --jobs 4")
def command(
    out: Path = option(
        Path("demo"), type=FOLDER, help="Folder for everything the demo writes.", show_default=True
    ),
    exam: str = option("midterm", "--set", metavar="SET", help="Set to use."),
    jobs: int | None = JOBS,
) -> None:
    """Render an exam for a sample class of 30, make up submissions, grade them, and report.

    Each command is printed before it runs.
    """
    from grader.bank.folders import Bank
    from grader.cli import demo_class, grader
    from grader.files import write_atomic
    from grader.release.file import load_release

    roster, roster_data = out / "roster.csv", demo_class.roster_csv().encode()
    _refuse_folder_of_class(out, roster, roster_data)
    if (out / "results").exists():
        import shutil

        for name in ("release", "submissions", "results"):
            shutil.rmtree(out / name, ignore_errors=True)

    def run(*arguments: str) -> None:
        click.secho("$ grader " + " ".join(arguments), bold=True)
        grader.main(args=list(arguments), prog_name="grader", standalone_mode=False)

    write_atomic(roster, roster_data)
    release, results = out / "release", out / "results"
    pinned_key = ("--private-key", demo_class.PRIVATE_KEY)
    run("render", exam, "--roster", str(roster), "--out", str(release), *pinned_key)
    pinned = load_release(release)
    count = demo_class.write_submissions(pinned, Bank.open().templates, out / "submissions")
    click.echo(f"Made up {count} submissions, and one from an unknown student.")
    run(
        "grade",
        str(out / "submissions"),
        "--release",
        str(release / "release.json"),
        "--out",
        str(results),
        "--cell-seconds",
        str(demo_class.ENDLESS_SECONDS),
        *(("--jobs", str(jobs)) if jobs else ()),
    )
    run("report", str(results), "--publish")
    _print_table(results)
    first = next(iter(pinned.students))
    click.echo(f"\nThe class report:   {results / 'report' / 'index.html'}")
    click.echo(f"{first}'s feedback:     {results / 'feedback' / f'{first}.html'}")
    click.echo(f"{first}'s notebook:     {release / 'notebooks' / f'{first}.ipynb'}")


def _refuse_folder_of_class(out: Path, roster: Path, demo_roster: bytes) -> None:
    """Raises SetupError if *out* has files that the demo would replace but did not make.

    A folder is the demo's own if its *roster* has exactly the content *demo_roster*.
    """
    names = ("roster.csv", "release", "submissions", "results")
    others = [name for name in names if (out / name).exists()]
    if others and not (roster.is_file() and roster.read_bytes() == demo_roster):
        raise SetupError(
            f"the demo would replace '{others[0]}', which it did not make",
            where=str(out),
            fix="choose another folder for --out",
        )


def _print_table(results: Path) -> None:
    """Prints what each student handed in, beside the score it earned."""
    from grader.cli import demo_class
    from grader.text.words import points

    rows = []
    for student, (habit, _) in zip(demo_class.students(), demo_class.HABITS, strict=True):
        grade = json.loads((results / "grades" / f"{student.id}.json").read_text("utf-8"))
        marks = grade["marks"]
        right = sum(m["verdict"] == "correct" for m in marks)
        named = sum(m["verdict"] == "mistake" for m in marks)
        settled = any(m["points"] is not None for m in marks)
        score = points(grade["score"]) + ("" if grade["complete"] else " +?") if settled else "-"
        max_score = points(grade["max_score"])
        rows.append((student.id, habit, score, max_score, str(right), str(named)))
    header = ("student", "what they handed in", "score", "of", "right", "named mistakes")
    click.echo("\n" + table(header, rows, right=(2, 3, 4, 5)))
