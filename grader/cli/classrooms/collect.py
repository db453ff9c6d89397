"""`grader classroom collect`: get every student's notebook from the repositories."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classrooms import choose_students, git_access, print_outcomes, repository_options
from grader.cli.options import examples, json_option
from grader.cli.progress import progress
from grader.text.words import count_of


@click.command(
    "collect",
    epilog=examples(
        "grader classroom collect roster.csv --out submissions \\",
        "    --url https://github.com/ORG/midterm-{id}.git --deadline 2026-12-01T23:59:00+01:00",
        "grader classroom collect roster.csv --out submissions --url $PWD/clones/{id}",
        "grader classroom collect roster.csv --out submissions --pushes pushes \\",
        "    --url https://github.com/ORG/midterm-{id}.git",
        "grader grade submissions --release release --out results",
    ),
)
@click.argument("roster", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="SUBMISSIONS",
    help="Folder for the notebooks.",
)
@click.option(
    "--branch",
    default="",
    metavar="NAME",
    help="Branch to collect. Default: each repository's default branch.",
)
@click.option(
    "--deadline",
    metavar="INSTANT",
    help="Collect the last commit before this time, such as 2026-12-01T23:59:00+01:00.",
)
@click.option(
    "--notebook",
    default="",
    metavar="PATH",
    help="Notebook's path in each repository; may contain {id}. Default: the only notebook at "
    "the top.",
)
@click.option(
    "--release",
    type=click.Path(path_type=Path),
    metavar="RELEASE",
    help="If a repository has several notebooks at the top, collect the one that belongs to this "
    "release.",
)
@click.option(
    "--pushes",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder with GitHub's record of each repository, STUDENT.json, from `gh api "
    "repos/ORG/REPO/activity`. Then the times of pushes count, which students can't set.",
)
@repository_options
@click.option(
    "--again",
    is_flag=True,
    help="Collect again even if a notebook was already collected after its deadline.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Time limit per repository, in seconds.",
)
@click.option(
    "--most-mb",
    type=click.FloatRange(min=1),
    default=200,
    show_default=True,
    metavar="MB",
    help="Size limit per repository, in MB.",
)
@json_option
def command(
    roster: Path,
    out: Path,
    url: str,
    branch: str,
    deadline: str | None,
    notebook: str,
    release: Path | None,
    pushes: Path | None,
    students: tuple[str, ...],
    again: bool,
    seconds: float,
    most_mb: float,
    jobs: int,
    as_json: bool,
) -> int:
    """Collect every student's notebook with git, as it was at the deadline.

    ROSTER is a CSV file with a column `id`; the columns `repository` and `deadline` override
    --url and --deadline for a student. If repositories are private, set GITHUB_TOKEN. Nothing in
    a repository is run or checked out. SUBMISSIONS/times.csv says when each notebook was handed in,
    for `grader grade --times`. Exits 1 if a repository can't be read.
    """
    from grader.integrations.repositories.collecting import (
        CollectStatus,
        collect_repositories,
        fit_rule,
        student_repositories,
    )
    from grader.integrations.repositories.git import CommandLimits
    from grader.integrations.repositories.roster import load_repositories, parse_instant
    from grader.integrations.repositories.snapshot import CollectOptions
    from grader.release.roster import load_roster

    listed = choose_students(load_roster(roster), students)
    deadline_instant = parse_instant(deadline) if deadline else None
    repositories = student_repositories(
        listed, load_repositories(roster), url=url, deadline=deadline_instant, pushes=pushes
    )
    how = CollectOptions(
        notebook=notebook,
        branch=branch,
        fit=fit_rule(release) if release else None,
        access=git_access(),
        bounds=CommandLimits(seconds=seconds, bytes=int(most_mb * 1e6)),
        jobs=jobs,
        again=again,
    )
    with progress("collecting", len(repositories)) as done:
        outcomes = collect_repositories(repositories, out, how, done)
    collected_count = sum(o.came in (CollectStatus.COLLECTED, CollectStatus.KEPT) for o in outcomes)
    print_outcomes(
        "came",
        [(o.student, o.came.value, o.text, o.commit) for o in outcomes],
        f"{collected_count} of {count_of(len(outcomes), 'notebook')} in {out}.",
        {"submissions": str(out)} if as_json else None,
    )
    return 1 if any(o.came is CollectStatus.FAILED for o in outcomes) else 0
