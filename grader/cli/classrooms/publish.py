"""`grader classroom publish`: push feedback to students' repositories."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classrooms import git_access, print_sent, repositories_of, repository_options
from grader.cli.options import examples, json_option, print_json
from grader.cli.progress import progress


@click.command(
    "publish",
    epilog=examples(
        "grader classroom publish results --url https://github.com/ORG/midterm-{id}.git",
        "grader classroom publish results --roster roster.csv --student ada",
        "grader classroom publish results --out feedback   # write files instead of pushing",
    ),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--roster",
    type=click.Path(path_type=Path, exists=True),
    metavar="CSV",
    help="CSV file with a column `repository`, for students whose URL is different.",
)
@click.option(
    "--branch", default="feedback", show_default=True, metavar="NAME", help="Branch to write to."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the files to DIR instead of pushing them.",
)
@repository_options
@json_option
def command(
    results: Path,
    roster: Path | None,
    url: str,
    branch: str,
    out: Path | None,
    students: tuple[str, ...],
    jobs: int,
    as_json: bool,
) -> int:
    """Push each student's feedback to a branch of the student's repository.

    README.md and feedback.html have the state of the last `grader report`: accepted answers are
    included only after `grader report --publish`. Set GITHUB_TOKEN to a token with write access.
    Branches that other programs wrote are not overwritten. Exits 1 if a repository can't be
    written, or if there is nothing to send to a student named with --student.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.github.feedback import feedback_files
    from grader.integrations.repositories.publishing import SendOptions, send_all
    from grader.integrations.results import join_names
    from grader.model.result import Standing
    from grader.words import counted

    found = class_results(results, students)
    graded = [r for r in found.results if r.feedback.standing is not Standing.MISSING]
    nothing = [
        r.feedback.student.id for r in found.results if r.feedback.standing is Standing.MISSING
    ]
    code = 1 if students and nothing else 0
    if nothing and not as_json:
        click.echo(f"note: {join_names(nothing)}: no submission, so there is no feedback", err=True)
    if not graded:
        if as_json:
            print_json({("students" if out is None else "files"): [], "nothing": nothing})
        else:
            whom = f" to {join_names(nothing)}" if students else ": there are no submissions"
            click.echo(f"There is nothing to send{whom}.")
        return code
    files = {r.feedback.student.id: feedback_files(r, results) for r in graded}
    if out is not None:
        from grader.integrations.exporting import move_folders_aside, write_exported
        from grader.model.exported import Exported

        flat = {f"{s}/{name}": data for s, mine in files.items() for name, data in mine.items()}
        made = Exported(files=flat)
        # The folders may be clones that contain students' files.
        for note in move_folders_aside(made, out):
            click.echo(f"note: {note}", err=True)
        write_exported(made, out)
        if as_json:
            print_json({"files": [str(out / name) for name in flat], "nothing": nothing})
        else:
            click.echo(f"Wrote feedback for {counted(len(files), 'student')} to {out}.")
        return code
    how = SendOptions(
        branch=branch,
        message=f"Feedback on {found.title}\n",
        whole=True,
        access=git_access(),
        jobs=jobs,
    )
    to = repositories_of([r.feedback.student for r in graded], roster, url)
    with progress("publishing", len(to)) as done:
        sent = send_all(to, lambda student: files[student], how, done)
    return max(code, print_sent(sent, as_json=as_json, nothing=nothing))
