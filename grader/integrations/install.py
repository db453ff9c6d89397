"""Where pip installs this package from: a repository at a commit, or a wheel with its hash.

The package is on no index. If generated files named it without a URL, anyone who registered the
name on an index could run code on students' machines, so generated files always name a URL.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from grader.errors import GraderError, SetupError
from grader.files import PACKAGE, read_bytes
from grader.integrations.repositories.git import Git

NAME = "systems-grader"
VARIABLE = "GRADER_SOURCE"
# No user name or token, because students can read the files, and no character that is special
# in a shell or in YAML.
_ADDRESS = r"(?:https://|file:///)[\w.~:/%+-]+"
_GIT = re.compile(rf"(?:git\+)?({_ADDRESS})@([0-9a-f]{{40}})", re.ASCII)
_WHEEL = re.compile(rf"{_ADDRESS}\.whl#sha256=[0-9a-f]{{64}}", re.ASCII)
_SSH = re.compile(r"(?:ssh://)?(?:[\w.-]+@)([\w.-]+)(?::(?!\d+/)|/)([\w.~/+-]+)", re.ASCII)
_FIX = (
    "pass --grader-source URL@COMMIT, such as https://github.com/OWNER/REPOSITORY@ and 40 "
    "hexadecimal digits, or a wheel as https://HOST/NAME.whl#sha256= and 64 hexadecimal digits"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A pinned URL that pip installs this package from."""

    url: str
    """`git+https://…@COMMIT`, or a wheel's URL with `#sha256=…`, which pip checks."""
    note: str = ""
    """How the source differs from the running code; empty if it does not."""

    @property
    def wheel(self) -> Path | None:
        """The path of the wheel if it is a local file, else None."""
        if not self.url.startswith("file:"):
            return None
        return Path(unquote(urlsplit(self.url).path))

    def wheel_bytes(self) -> bytes:
        """Returns the wheel's content. Raises SetupError if it does not match the hash."""
        assert self.wheel is not None  # noqa: S101 - callers check
        data = read_bytes(self.wheel, "the wheel")
        if not self.url.endswith(f"#sha256={hashlib.sha256(data).hexdigest()}"):
            raise SetupError(
                "the wheel does not match the given hash",
                where=str(self.wheel),
                fix="pass the wheel that has this hash, or the path without a hash",
            )
        return data

    def requirement(self, *extras: str) -> str:
        """Returns a requirement for pip, with the package's optional *extras*.

        >>> Source("git+https://example.org/g@" + "0" * 40).requirement("classroom")[:40]
        'systems-grader[classroom] @ git+https://'
        """
        chosen = f"[{','.join(extras)}]" if extras else ""
        return f"{NAME}{chosen} @ {self.url}"


def source_of(text: str) -> Source:
    """Returns the source for a pinned URL or a local wheel. Raises SetupError otherwise."""
    git = _GIT.fullmatch(text)
    if git is not None:
        return Source(f"git+{git[1]}@{git[2]}")
    if _WHEEL.fullmatch(text):
        return Source(text)
    path = Path(text)
    if "://" not in text and path.suffix == ".whl":
        digest = hashlib.sha256(read_bytes(path, "the wheel")).hexdigest()
        return Source(f"{path.absolute().as_uri()}#sha256={digest}")
    raise SetupError(f"--grader-source '{text}' does not pin the grader's code", fix=_FIX)


def own_source() -> Source:
    """Returns the source of the running package. Raises SetupError if it is not known."""
    if (PACKAGE.parent / ".git").exists():
        return _checkout_source(Git(PACKAGE.parent, ours=False))
    record = _read_direct_url()
    try:
        if "vcs_info" in record:
            return source_of(f"{_public_url(record['url'])}@{record['vcs_info']['commit_id']}")
        if "archive_info" in record:
            info = record["archive_info"]
            digest = info.get("hashes", {}).get("sha256") or info["hash"].removeprefix("sha256=")
            return source_of(f"{_public_url(record['url'])}#sha256={digest}")
    except (KeyError, TypeError, AttributeError, SetupError):
        pass
    raise _unknown_source("it was not installed from a repository at a commit, or from a wheel")


def chosen_source(text: str) -> Source:
    """Returns the source in *text*, else in GRADER_SOURCE, else that of the running package."""
    named = text or os.environ.get(VARIABLE, "")
    return source_of(named) if named else own_source()


def _unknown_source(why: str) -> SetupError:
    return SetupError(f"no source that students can install the grader from: {why}", fix=_FIX)


def _read_direct_url() -> dict[str, Any]:
    """Returns pip's record of the running package's installation (PEP 610); empty without one."""
    try:
        installed: Distribution = distribution(NAME)
        here = Path(str(installed.locate_file("grader"))).resolve() == PACKAGE.resolve()
        data = json.loads((installed.read_text("direct_url.json") if here else None) or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _checkout_source(git: Git) -> Source:
    """Returns the commit that is checked out, at the repository that it was cloned from."""
    try:
        commit = git.line("rev-parse", "HEAD")
        origin = _public_url(git.line("config", "--get", "remote.origin.url"))
    except GraderError:
        raise _unknown_source("this checkout has no remote 'origin'") from None
    if not origin.startswith("https://"):
        raise _unknown_source("this checkout's 'origin' has no https address")
    if not git.line("branch", "--remotes", "--contains", commit):
        raise SetupError(
            f"commit {commit[:10]} of this checkout is on no branch of its 'origin', so nobody "
            "else can install it",
            fix="push it, or name another with --grader-source URL@COMMIT",
        )
    changed = git.line("status", "--porcelain", "--untracked-files=no")
    note = f"changes in this checkout that are not committed are not in {commit[:10]}"
    return Source(source_of(f"{origin}@{commit}").url, note if changed else "")


def _public_url(url: str) -> str:
    """Returns *url* as anyone can use it: https instead of SSH, and without user name or token.

    >>> _public_url("git@github.com:org/grader.git"), _public_url("https://me:token@example.org/g")
    ('https://github.com/org/grader.git', 'https://example.org/g')
    """
    ssh = _SSH.fullmatch(url)
    if ssh is not None:
        return f"https://{ssh[1]}/{ssh[2]}"
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
