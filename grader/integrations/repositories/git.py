"""Runs git so that nothing in a foreign repository can run code, hang, or fill the disk.

Commands run in repositories that we create. If the other repository is on this disk, the git
process that serves it reads that repository's settings; those that name programs are overridden.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from grader.errors import GraderError, SetupError, one_line

PROTOCOLS = ("https", "http", "ssh", "file")
"""Other protocols may start a program that an address names."""
_LONGEST_SAID = 300
_TOO_LARGE = int(getattr(signal, "SIGXFSZ", 25))
"""The signal that ends a program that exceeds the file size limit."""

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "core.bigFileThreshold": "16m",  # larger ones pass through without being held in memory
    "fetch.unpackLimit": "1",  # one file, whose size is limited, instead of thousands
    "pack.threads": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "credential.helper": "",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
}
_SERVED = {
    # The repository's owner wrote its settings, which could name programs.
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.alternateRefsCommand": "true",  # the program that does nothing
    "receive.denyCurrentBranch": "refuse",  # otherwise files are checked out through its filters
    "receive.autogc": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_NO_PROTOCOL = "none"
"""Matches no protocol, so a repository can't fetch missing objects from elsewhere."""
_KEPT = (
    *("PATH", "HOME", "SYSTEMROOT", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("GIT_SSL_CAINFO", "https_proxy", "HTTPS_PROXY", "http_proxy", "no_proxy", "NO_PROXY"),
    *("TMPDIR", "TEMP", "TMP"),
)


class GitError(GraderError):
    """A git command failed; *said* is git's own message in one line."""

    def __init__(self, what: str, said: str = ""):
        super().__init__(what)
        self.said = said

    @property
    def reason(self) -> str:
        """What failed, followed by git's own message unless it is the same."""
        is_new = self.said and self.said not in self.what
        return f"{self.what} ({one_line(self.said, 200)})" if is_new else self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Credentials: a token that is sent to one server only."""

    token: str = ""
    server: str = "https://github.com"

    def settings(self) -> Mapping[str, str]:
        """Returns git settings with the token; not for a command line, which others can read."""
        if not self.token:
            return {}
        pair = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {f"http.{self.server.rstrip('/')}/.extraheader": f"AUTHORIZATION: basic {pair}"}

    def redact(self, text: str) -> str:
        """Returns *text* without the token."""
        return text.replace(self.token, "***") if self.token else text


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """Limits on the time, memory, and files of one git command."""

    seconds: float = 120.0
    bytes: int = 200_000_000
    """Size of a file that it writes, such as the pack that it fetches."""
    memory: int = 4 * 2**30
    """In bytes."""


ANYONE = Credentials()
USUAL = CommandLimits()


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git commands in one folder."""

    folder: Path
    access: Credentials = ANYONE
    bounds: CommandLimits = USUAL
    ours: bool = True
    """Whether we created the repository; any other one can't reach further repositories."""

    def run(self, *arguments: str, given: bytes = b"", most: int = 1_000_000) -> bytes:
        """Runs a command with the input *given*, and returns its output. Raises GitError."""
        command = [*_git_command(self.bounds), *arguments]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(  # noqa: S603 - no shell reads the arguments
                command,
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                process.communicate(given, timeout=self.bounds.seconds)
            except subprocess.TimeoutExpired:
                raise GitError(f"git took longer than {self.bounds.seconds:.0f} s") from None
            finally:
                _kill_process_group(process)
            err.seek(0)
            message = self.access.redact(err.read(100_000).decode("utf-8", "replace"))
            if process.returncode:
                raise GitError(
                    _failure_reason(process.returncode, message, self.bounds), _reason_line(message)
                )
            out.seek(0)
            data = out.read(most + 1)
        if len(data) > most:
            raise GitError(f"git printed more than {most / 1e6:g} MB")
        return data

    def line(self, *arguments: str, given: bytes = b"") -> str:
        """Runs a command, and returns its output as text without surrounding whitespace."""
        return self.run(*arguments, given=given).decode("utf-8", "replace").strip()

    def _environment(self) -> dict[str, str]:
        """Returns an environment in which git ignores the user's settings and asks for nothing."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        settings = {**_SETTINGS, **self.access.settings()}
        numbered = {f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(settings)}
        values = {f"GIT_CONFIG_VALUE_{n}": text for n, text in enumerate(settings.values())}
        return {
            **kept,
            **numbered,
            **values,
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TEMPLATE_DIR": "",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
            "GIT_LFS_SKIP_SMUDGE": "1",
            **({} if self.ours else {"GIT_NO_LAZY_FETCH": "1"}),
            "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS) if self.ours else _NO_PROTOCOL,
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C.UTF-8",
        }


@contextlib.contextmanager
def scratch_git(access: Credentials = ANYONE, bounds: CommandLimits = USUAL) -> Iterator[Git]:
    """Provides `Git` in a new temporary folder. Raises SetupError if git is not installed."""
    if shutil.which("git") is None:
        raise SetupError("git is not installed", fix="install git")
    prefix = "grader-git-"
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        yield Git(Path(folder), access, bounds)


def git_address(text: str) -> str:
    """Returns the address of a repository for git; a folder becomes a file:// address.

    Raises SetupError for an address that could start a program or be read as an option.
    """
    try:
        scheme = urlsplit(text).scheme if "://" in text else ""
    except ValueError:  # for example, an unclosed bracket
        scheme = "no address"
    if scheme in PROTOCOLS:
        return text
    if scheme or "::" in text or text.startswith("-"):
        raise SetupError(
            f"'{text}' is not the address of a repository",
            fix=f"use one that begins with {', '.join(p + '://' for p in PROTOCOLS)}, or a folder",
        )
    if ":" in text and not Path(text).exists() and "@" in text.partition(":")[0]:
        return text  # the short form for SSH: git@host:owner/name
    return Path(text).absolute().as_uri()


def origin_settings(where: str) -> dict[str, str]:
    """Returns git settings for the remote `origin` at *where*.

    If it is a folder on this machine, git runs no program that its settings or hooks name.
    """
    settings = {"remote.origin.url": where}
    if urlsplit(where).scheme == "file":
        # Git does not pass our environment on to the process that serves the other repository.
        overruled = " ".join(f"-c {name}={value}" for name, value in _SERVED.items())
        serving = f"GIT_ALLOW_PROTOCOL={_NO_PROTOCOL} GIT_NO_LAZY_FETCH=1 git {overruled}"
        settings["remote.origin.uploadpack"] = f"{serving} upload-pack"
        settings["remote.origin.receivepack"] = f"{serving} receive-pack"
    return settings


def _git_command(bounds: CommandLimits) -> list[str]:
    """Returns the command `git`, with limits on memory and file size if a shell can set them."""
    if sys.platform == "win32":
        return ["git"]
    # A block has 512 or 1,024 bytes, depending on the shell.
    # If the signal is ignored, git gets an error and can report it.
    limits = f"trap '' XFSZ; ulimit -f {bounds.bytes // 512}"
    limits += f"; ulimit -v {bounds.memory // 1024} 2>/dev/null"
    return ["/bin/sh", "-c", f'{limits}; exec git "$@"', "git"]


def _kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kills the command and all processes that it started, unless it has ended."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason_line(text: str) -> str:
    """Returns the first line of git's output that gives a reason, or else the last line."""
    lines = [line.strip() for line in text.splitlines()]
    reasons = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "!"))]
    line = next(iter(reasons), lines[-1] if lines else "")
    return line.removeprefix("fatal:").removeprefix("error:").strip()[:_LONGEST_SAID]


_REASONS: Sequence[tuple[tuple[str, ...], str]] = (
    (("file too large", "file size limit", "signal 25"), "it is larger than {most:g} MB"),
    (("remote branch", "couldn't find remote ref"), "the branch does not exist"),
    (
        ("not found", "does not exist", "does not appear", "could not read username"),
        "the repository does not exist, or access is denied",
    ),
    (
        ("authentication failed", "error: 403", "permission denied", "denied to"),
        "access is denied",
    ),
    (("could not resolve", "unable to access", "timed out"), "the server can't be reached"),
)


def _failure_reason(code: int, message: str, bounds: CommandLimits) -> str:
    """Returns why git failed, from its exit *code* and its output *message*."""
    folded = message.casefold()
    if code in (-_TOO_LARGE, 128 + _TOO_LARGE):
        folded = "file too large"
    for signs, what in _REASONS:
        if any(sign in folded for sign in signs):
            return what.format(most=bounds.bytes / 1e6)
    return f"git failed: {_reason_line(message)}" if message.strip() else f"git failed with {code}"
