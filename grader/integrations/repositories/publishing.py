"""Pushes files to students' repositories: starter files, and feedback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from grader.errors import GraderError, SetupError
from grader.integrations.repositories.git import (
    ANYONE,
    Credentials,
    Git,
    GitError,
    git_address,
    origin_settings,
    scratch_git,
)
from grader.integrations.repositories.snapshot import Repository, RepositoryOutcome
from grader.text.words import join_names

NAME, EMAIL = "grader", "grader@users.noreply.github.com"
_MOST_FILES = 1000
"""A folder with more files is probably the wrong one, such as a home folder."""
_MOST_COMMITS = 1000
"""Commits of a branch that are searched for one of ours."""


class SendStatus(StrEnum):
    """Outcome for one student's files."""

    SENT = "sent"
    SAME = "nothing new"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """How files are sent to students' repositories."""

    branch: str
    message: str
    whole: bool
    """Whether the branch is ours and contains only these files. Otherwise missing files are
    added, and existing ones are left unchanged."""
    access: Credentials = ANYONE
    jobs: int = 8


def send_all(
    to: Iterable[Repository],
    files_of: Callable[[str], Mapping[str, bytes]],
    how: SendOptions,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[RepositoryOutcome, ...]:
    """Pushes every student's files. A failure for one student does not stop the others."""
    with ThreadPoolExecutor(max_workers=how.jobs) as pool:
        outcomes = []
        for result in pool.map(partial(_try_to_send, files_of=files_of, how=how), to):
            outcomes.append(result)
            done(result.student)
    return tuple(outcomes)


def _try_to_send(
    to: Repository, *, files_of: Callable[[str], Mapping[str, bytes]], how: SendOptions
) -> RepositoryOutcome:
    """Sends the files of one student, and returns the outcome, even of a failure."""
    try:
        return _send(to, files_of(to.student), how)
    except GraderError as error:
        text = error.reason if isinstance(error, GitError) else error.what
        return RepositoryOutcome(student=to.student, status=SendStatus.FAILED, text=text)


def _send(to: Repository, files: Mapping[str, bytes], how: SendOptions) -> RepositoryOutcome:
    """Commits *files* to a branch of a repository and pushes it, without cloning its files."""
    outcome = partial(RepositoryOutcome, student=to.student)
    with scratch_git(how.access) as outer:
        outer.run("init", "--quiet", "--bare", "--template=", "repository")
        git = Git(outer.folder / "repository", how.access)
        for name, value in origin_settings(git_address(to.url)).items():
            git.run("config", name, value)
        parent, taken_over = _branch_tip(git, how)
        start = [parent] if parent and not how.whole else ["--empty"]
        git.run("read-tree", *start)
        # Existing files of another user's branch are left unchanged.
        list_file = ["ls-tree", "-z", "--full-tree", parent, "--"]
        ours = how.whole or not parent
        new = {n: data for n, data in files.items() if ours or not git.run(*list_file, n)}
        if not new:
            return outcome(status=SendStatus.SAME, text="all files exist", commit=parent)
        for name, data in new.items():
            blob = git.line("hash-object", "-w", "--stdin", "--no-filters", given=data)
            git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        # Existing files are named in the tree, and their content need not be on this disk.
        tree = git.line("write-tree", "--missing-ok")
        if parent and tree == git.line("rev-parse", f"{parent}^{{tree}}"):
            return outcome(status=SendStatus.SAME, text="unchanged", commit=parent)
        author = ["-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}"]
        parents = ["-p", parent] if parent else []
        message = how.message.encode()
        commit = git.line(*author, "commit-tree", tree, *parents, given=message)
        git.run("push", "--quiet", "--no-verify", "origin", f"{commit}:refs/heads/{how.branch}")
        text = f"{join_names(sorted(new), most=4)} to the branch {how.branch}"
        text += ", replacing another user's commit there" if taken_over else ""
        return outcome(status=SendStatus.SENT, text=text, commit=commit)


def _branch_tip(git: Git, how: SendOptions) -> tuple[str, bool]:
    """Returns the branch's commit, if any, and whether another user committed on top of ours."""
    branch = f"refs/heads/{how.branch}"
    heads = git.line("ls-remote", "--heads", "--", "origin", branch).splitlines()
    # ls-remote also matches longer names, such as x/refs/heads/feedback.
    if branch not in [line.partition("\t")[2] for line in heads]:
        return "", False
    # Fetch only trees; the content of files is not needed.
    git.run("config", "remote.origin.promisor", "true")
    git.run("config", "remote.origin.partialclonefilter", "blob:none")
    fetch = ["fetch", "--quiet", "--no-tags", "--filter=blob:none"]
    git.run(*fetch, "--depth=1", "origin", branch)
    tip = git.line("rev-parse", "--verify", "FETCH_HEAD^{commit}")
    show = ["log", "--no-show-signature", f"--max-count={_MOST_COMMITS}", "--format=%ce %s"]
    if not how.whole or git.line(*show, "--max-count=1", tip).startswith(f"{EMAIL} "):
        return tip, False
    # A student can commit a link, a folder or anything else in place of our files. That must not
    # block the next result. The commit stays in the history.
    git.run(*fetch, f"--depth={_MOST_COMMITS}", "origin", branch)
    subject = how.message.partition("\n")[0]
    if f"{EMAIL} {subject}" not in git.line(*show, tip).splitlines():
        raise SetupError(
            f"the branch '{how.branch}' exists, and this command did not create it",
            fix="choose another one with --branch",
        )
    return tip, True


def folder_files(folder: Path) -> dict[str, bytes]:
    """Returns the files in *folder* by path. Raises SetupError for no folder, or too many files."""
    if not folder.is_dir():
        raise SetupError(
            f"there is no folder for '{folder.name}'",
            where=str(folder.parent),
            fix="create it with `grader classroom init`",
        )
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink()]
    if len(paths) > _MOST_FILES:
        raise SetupError(
            f"the folder has more than {_MOST_FILES} files",
            where=str(folder),
            fix="choose a folder with fewer files",
        )
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}
