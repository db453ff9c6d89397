"""One notebook from a student's repository as of a point in time; runs nothing in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import PurePosixPath

from grader import notebook
from grader.errors import SubmissionError, one_line
from grader.integrations.repositories.git import (
    ANYONE,
    USUAL,
    CommandLimits,
    Credentials,
    Git,
    GitError,
    git_address,
    origin_settings,
    scratch_git,
)
from grader.integrations.repositories.pushes import NO_PUSHES, PushLog, find_commit, time_of_push
from grader.text.words import join_names

_FILES, _LINK, _SUBMODULE = ("100644", "100755"), "120000", "160000"
_MOST_READ = 20
"""Notebooks of one repository that are read to find the exam's."""
_LATEST = 253_402_300_799  # the end of the year 9999
_LFS = b"version https://git-lfs.github.com/"


Fit = Callable[[str, notebook.Notebook], int]
"""How well a notebook fits the exam, given the student's id; 0 if it does not belong to it."""


class NothingThereError(SubmissionError):
    """Nothing was pushed to the repository, or nothing before the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The address of one student's repository, and the student's deadline."""

    student: str
    url: str
    deadline: datetime | None = None
    """The last instant that counts, with its offset from UTC."""
    pushes: PushLog = NO_PUSHES
    """What the forge recorded about this repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryOutcome:
    """What became of one student's repository: a line in the report."""

    student: str
    status: StrEnum
    text: str
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions:
    """Which notebook is collected from each repository, and how."""

    notebook: str = ""
    """Path in the repository, in which {id} stands for the student; if empty, a notebook in the
    top folder is taken."""
    branch: str = ""
    """If empty, the repository's default branch."""
    fit: Fit | None = None
    """Chooses between several notebooks in the top folder; without it they are refused."""
    access: Credentials = ANYONE
    bounds: CommandLimits = USUAL
    jobs: int = 8
    again: bool = False
    """Collect again even if a notebook was already collected after its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedNotebook:
    """A notebook as it was committed."""

    data: bytes
    path: str
    commit: str
    commit_time: int
    """Time of the commit in seconds since 1970. The commit's author can set any time."""
    newer: bool = False
    """Whether later commits were left out."""
    push_time: datetime | None = None
    """When the forge received the commit; None if it is not known."""


def fetch_notebook(repository: Repository, how: CollectOptions) -> FetchedNotebook:
    """Fetches the notebook. Raises SubmissionError if there is none, GitError if git fails.

    Nothing is checked out, so hooks, filters, submodules and Git LFS have no effect.
    """
    with scratch_git(how.access, how.bounds) as git:
        clone = ["clone", "--quiet", "--bare", "--no-tags", "--single-branch", "--template="]
        clone += ["--filter=blob:none", "--no-recurse-submodules"]
        clone += [] if repository.deadline else ["--depth=1"]
        clone += [f"--branch={how.branch}"] if how.branch else []
        where = git_address(repository.url)
        settings = origin_settings(where)
        del settings["remote.origin.url"]
        clone += [f"--config={name}={value}" for name, value in settings.items()]
        try:
            git.run(*clone, "--", where, "repository")
        except GitError:
            # A chosen branch does not exist in an empty repository either.
            if how.branch and not git.line("ls-remote", "--heads", "--", where):
                raise NothingThereError("nothing has been pushed yet") from None
            raise
        inside = Git(git.folder / "repository", how.access, how.bounds)
        commit, newer = _commit_at_deadline(inside, repository)
        path, blob = _find_notebook(inside, commit, repository.student, how)
        return FetchedNotebook(
            data=_read_blob(inside, blob, path),
            path=path,
            commit=commit,
            commit_time=_commit_time(inside, commit),
            newer=newer,
            push_time=time_of_push(inside, repository.pushes, commit),
        )


def _commit_at_deadline(git: Git, repository: Repository) -> tuple[str, bool]:
    """Returns the commit at the deadline by pushes if known, and whether there are newer ones."""
    deadline = repository.deadline
    try:
        head = git.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    except GitError:
        raise NothingThereError("nothing has been pushed yet") from None
    if deadline is None:
        return head, False
    if repository.pushes.pushes:
        pushed = find_commit(git, repository.pushes, deadline)
        if not pushed:
            raise NothingThereError("nothing was pushed before the deadline")
        return pushed, pushed != head
    # First parents only: what was merged later was written, but not submitted, before.
    seconds = int(deadline.timestamp())
    commit = git.line("rev-list", "-1", "--first-parent", f"--before={seconds}", head)
    if not commit:
        raise NothingThereError("nothing was committed before the deadline")
    return commit, commit != head


def _commit_time(git: Git, commit: str) -> int:
    """Returns the commit's own time in seconds since 1970, limited to what files can have."""
    written = git.line("show", "-s", "--no-show-signature", "--format=%ct", commit)
    if not written.removeprefix("-").isdecimal():  # a handmade commit can lack it
        raise SubmissionError("its commit does not say when it was made")
    return min(max(int(written), 0), _LATEST)


def _find_notebook(git: Git, commit: str, student: str, how: CollectOptions) -> tuple[str, str]:
    """Returns the path of the notebook, and git's name for its content."""
    if how.notebook:
        path = how.notebook.replace("{id}", student)
        listed = _list_files(git, commit, path)
        if path not in listed:
            raise SubmissionError(f"it has no file '{path}'")
        return path, _blob_of_file(path, *listed[path])
    listed = _list_files(git, commit)
    candidates = [name for name in listed if PurePosixPath(name).suffix.casefold() == ".ipynb"]
    if f"{student}.ipynb" in candidates:
        candidates = [f"{student}.ipynb"]
    if not candidates:
        raise SubmissionError("its top folder contains no notebook")
    notebooks = candidates
    if len(candidates) > 1 and how.fit is not None:
        candidates = _best_fits(git, listed, candidates, partial(how.fit, student))
    if len(candidates) != 1:
        which = "more than one belongs" if candidates else "none belongs"
        raise SubmissionError(
            f"its top folder contains {len(notebooks)} notebooks "
            f"({join_names((one_line(name, 60) for name in notebooks), most=5)}), and "
            + (f"{which} to the release" if how.fit else "it is unclear which one counts"),
            fix="name the notebook with --notebook"
            + ("" if how.fit else ", or the release with --release"),
        )
    return candidates[0], _blob_of_file(candidates[0], *listed[candidates[0]])


def _best_fits(
    git: Git,
    listed: Mapping[str, tuple[str, str]],
    names: Sequence[str],
    fit: Callable[[notebook.Notebook], int],
) -> list[str]:
    """Returns those of *names* that fit the exam best; none if none of them belongs to it."""
    fits: dict[str, int] = {}
    for name in names[:_MOST_READ]:
        # An unreadable file beside the exam's notebook does no harm.
        with suppress(SubmissionError):
            data = _read_blob(git, _blob_of_file(name, *listed[name]), name)
            fits[name] = fit(notebook.read(data))
    best = max(fits.values(), default=0)
    return [name for name, value in fits.items() if value == best] if best else []


def _list_files(git: Git, commit: str, *paths: str) -> Mapping[str, tuple[str, str]]:
    """Returns mode and object name of everything in the top folder, or at *paths*, by path."""
    entries = {}
    for entry in git.run("ls-tree", "-z", "--full-tree", commit, "--", *paths).split(b"\0"):
        if not entry:
            continue
        about, _, name = entry.decode("utf-8", "replace").partition("\t")
        mode, _, blob = about.split(" ", 2)
        entries[name] = (mode, blob)
    return entries


def _blob_of_file(path: str, mode: str, blob: str) -> str:
    """Returns *blob* if *mode* is that of a regular file, and raises SubmissionError otherwise."""
    if mode in _FILES:
        return blob
    what = {_LINK: "a symbolic link", _SUBMODULE: "a submodule"}.get(mode, "a folder")
    raise SubmissionError(f"'{one_line(path, 60)}' is {what}; commit the file itself")


def _read_blob(git: Git, blob: str, path: str) -> bytes:
    """Returns a notebook's content. Raises SubmissionError if it is too large or in Git LFS."""
    size = int(git.line("cat-file", "-s", blob))
    if size > notebook.MAX_BYTES:
        raise notebook.too_large_error(size)
    data = git.run("cat-file", "blob", blob, most=notebook.MAX_BYTES)
    if data.startswith(_LFS):
        raise SubmissionError(
            f"'{one_line(path, 60)}' is stored in Git LFS, which is not supported",
            fix="commit the notebook itself",
        )
    return data
