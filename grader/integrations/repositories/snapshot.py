"""One notebook out of a student's repository, as it stood at an instant; nothing in it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from grader import notebook
from grader.errors import SubmissionError, shown
from grader.integrations.repositories.git import (
    ANYONE,
    USUAL,
    Access,
    Bounds,
    Git,
    GitError,
    address,
    origin,
    scratch,
)

_FILES, _LINK, _OTHER = ("100644", "100755"), "120000", "160000"
_NAMED = 5
_LATEST = 253_402_300_799  # the end of the year 9999
_LFS = b"version https://git-lfs.github.com/"


class NothingThereError(SubmissionError):
    """Nothing was handed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be taken from where."""

    url: str
    student: str
    notebook: str = ""
    """Its path in the repository; else the only one in the top folder."""
    branch: str = ""
    """Else the one that the repository opens with."""
    before: datetime | None = None
    """The last instant that counts, with its offset from UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A notebook as it was committed."""

    data: bytes
    path: str
    commit: str
    committed: int
    """When, as the commit itself says, in seconds since 1970. Its author can write any time."""
    newer: bool = False
    """Whether there is more that came too late."""


def take(wanted: Wanted, access: Access = ANYONE, bounds: Bounds = USUAL) -> Taken:
    """The notebook. Raises SubmissionError when there is none, GitError when git fails.

    Only the list of files and that one file are fetched, where the server can do so. Hooks,
    filters, submodules and Git LFS play no part, as nothing is ever checked out.
    """
    with scratch(access, bounds) as git:
        clone = ["clone", "--quiet", "--bare", "--no-tags", "--single-branch", "--template="]
        clone += ["--filter=blob:none", "--no-recurse-submodules"]
        if wanted.before is None:
            clone += ["--depth=1"]
        if wanted.branch:
            clone += [f"--branch={wanted.branch}"]
        where = address(wanted.url)
        clone += [f"--config={k}={v}" for k, v in origin(where).items() if k != "remote.origin.url"]
        git.run(*clone, "--", where, "repository")
        inside = Git(git.folder / "repository", access, bounds)
        commit, newer = _commit(inside, wanted)
        path, blob = _notebook(inside, commit, wanted)
        return Taken(
            data=_blob(inside, blob, path),
            path=path,
            commit=commit,
            committed=_when(inside, commit),
            newer=newer,
        )


def _commit(git: Git, wanted: Wanted) -> tuple[str, bool]:
    """What the branch pointed to at the instant, and whether it has moved on since."""
    try:
        head = git.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    except GitError:
        raise NothingThereError("nothing has been pushed yet") from None
    if wanted.before is None:
        return head, False
    # Along the first parents: what was merged later was written, but not handed in, before.
    seconds = int(wanted.before.timestamp())
    found = git.line("rev-list", "-1", "--first-parent", f"--before={seconds}", head)
    if not found:
        raise NothingThereError("nothing was committed before the deadline")
    return found, found != head


def _when(git: Git, commit: str) -> int:
    """Its author's word for it, held within what files and calendars can express."""
    written = git.line("show", "-s", "--no-show-signature", "--format=%ct", commit)
    if not written.removeprefix("-").isdecimal():  # who writes commits by hand can leave it out
        raise SubmissionError("its commit does not say when it was made")
    return min(max(int(written), 0), _LATEST)


def _notebook(git: Git, commit: str, wanted: Wanted) -> tuple[str, str]:
    """The path of the notebook, and the name that git has for its content."""
    if wanted.notebook:
        listed = _listed(git, commit, wanted.notebook)
        if wanted.notebook not in listed:
            raise SubmissionError(f"there is no '{wanted.notebook}' in it")
        return wanted.notebook, _regular(wanted.notebook, *listed[wanted.notebook])
    listed = _listed(git, commit)
    found = [name for name in listed if PurePosixPath(name).suffix.casefold() == ".ipynb"]
    own = f"{wanted.student}.ipynb"
    if own in found:
        found = [own]
    if not found:
        raise SubmissionError("there is no notebook in its top folder")
    if len(found) > 1:
        names = ", ".join(shown(name, 60) for name in found[:_NAMED])
        raise SubmissionError(
            f"there are {len(found)} notebooks in its top folder ({names}), and nobody said which",
            fix="name it with --notebook",
        )
    return found[0], _regular(found[0], *listed[found[0]])


def _listed(git: Git, commit: str, *paths: str) -> Mapping[str, tuple[str, str]]:
    """Mode and content's name of everything in the top folder, or at *paths*."""
    found = {}
    for entry in git.run("ls-tree", "-z", "--full-tree", commit, "--", *paths).split(b"\0"):
        if not entry:
            continue
        about, _, name = entry.decode("utf-8", "replace").partition("\t")
        mode, _, blob = about.split(" ", 2)
        found[name] = (mode, blob)
    return found


def _regular(path: str, mode: str, blob: str) -> str:
    name = shown(path, 60)
    if mode == _LINK:
        raise SubmissionError(f"'{name}' is a symbolic link; the file itself is needed")
    if mode == _OTHER:
        raise SubmissionError(f"'{name}' is a submodule; the file itself is needed")
    if mode not in _FILES:
        raise SubmissionError(f"'{name}' is no file")
    return blob


def _blob(git: Git, blob: str, path: str) -> bytes:
    size = int(git.line("cat-file", "-s", blob))
    if size > notebook.MAX_BYTES:
        raise notebook.too_large(size)
    data = git.run("cat-file", "blob", blob, most=notebook.MAX_BYTES)
    if data.startswith(_LFS):
        raise SubmissionError(
            f"'{shown(path, 60)}' is kept in Git LFS, which is not read",
            fix="commit the notebook itself",
        )
    return data
