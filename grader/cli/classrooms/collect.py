"""`grader classroom collect`: get every student's notebook from the repositories."""

from __future__ import annotations

from pathlib import Path

from grader.cli.classrooms import JOBS, STUDENTS, URL, choose_students, git_access, print_outcomes
from grader.cli.options import JSON
from grader.cli.parameters import EXISTING_FOLDER, FOLDER, option, subcommand
from grader.cli.progress import progress
from grader.text.words import count_of


@subcommand(
    "collect",
    "grader classroom collect roster.csv --out submissions \\",
    "    --url https://github.com/ORG/midterm-{id}.git --deadline 2026-12-01T23:59:00+01:00",
    "grader classroom collect roster.csv --out submissions --url $PWD/clones/{id}",
    "grader classroom collect roster.csv --out submissions --pushes pushes \\",
    "    --url https://github.com/ORG/midterm-{id}.git",
    "grader grade submissions --release release --out results",
)
def command(
    roster: Path,
    out: Path = option(type=FOLDER, metavar="SUBMISSIONS", help="Folder for the notebooks."),
    branch: str = option(
        "", metavar="NAME", help="Branch to collect. Default: each repository's default branch."
    ),
    deadline: str | None = option(
        None,
        metavar="INSTANT",
        help="Collect the last commit before this time, such as 2026-12-01T23:59:00+01:00.",
    ),
    notebook: str = option(
        "",
        metavar="PATH",
        help="Notebook's path in each repository; may contain {id}. Default: the only notebook at "
        "the top.",
    ),
    release: Path | None = option(
        None,
        metavar="RELEASE",
        help="If a repository has several notebooks at the top, collect the one that belongs to "
        "this release.",
    ),
    pushes: Path | None = option(
        None,
        type=EXISTING_FOLDER,
        help="Folder with GitHub's record of each repository, STUDENT.json, from `gh api "
        "repos/ORG/REPO/activity`. Then the times of pushes count, which students can't set.",
    ),
    url: str = URL,
    students: tuple[str, ...] = STUDENTS,
    jobs: int = JOBS,
    again: bool = option(
        False, help="Collect again even if a notebook was already collected after its deadline."
    ),
    seconds: float = option(
        120, least=1, metavar="SECONDS", help="Time limit per repository, in seconds."
    ),
    most_mb: float = option(200, least=1, metavar="MB", help="Size limit per repository, in MB."),
    as_json: bool = JSON,
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
    collected_count = sum(
        o.status in (CollectStatus.COLLECTED, CollectStatus.KEPT) for o in outcomes
    )
    print_outcomes(
        "came",
        outcomes,
        f"{collected_count} of {count_of(len(outcomes), 'notebook')} in {out}.",
        {"submissions": str(out)} if as_json else None,
    )
    return 1 if any(o.status is CollectStatus.FAILED for o in outcomes) else 0
