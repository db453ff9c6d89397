"""Reads every object of a git repository, including unreferenced ones."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from grader.errors import SetupError
from grader.security.leaks.records import LATE, Budget, Piece

_WAIT_SECONDS = 10.0
_MOST_FAILURES = 20
"""Objects at which git may fail; after each, it is restarted for the remaining ones."""
_MOST_LINKS = 3_000_000
"""Tree entries that are remembered, to name the commit that contains a file."""


@dataclass(frozen=True, slots=True)
class _Object:
    id: str
    kind: str
    size: int


class History:
    """One repository. Its settings are not read, and nothing in it is run."""

    def __init__(self, repository: Path, name: str, budget: Budget):
        self._repository = repository
        self._prefix = f"{name}: " if name else ""
        self._budget = budget
        self.objects = 0
        # Maps a tree or blob to a tree or commit that contains it, and its name there.
        self._parents: dict[str, tuple[str, str]] = {}
        self._kinds: dict[str, str] = {}

    def pieces(self) -> Iterator[Piece]:
        """Contents, messages and names; `place` computes the paths once everything was read."""
        if shutil.which("git") is None:
            raise SetupError(
                "the folder has a git history, but git is not installed",
                where=str(self._repository),
                fix="install git, or search a copy without .git",
            )
        with tempfile.TemporaryDirectory(prefix="grader-leaks-") as home:
            environment = self._environment(Path(home))
            listed = self._listed(environment)
            if listed:
                yield from self._contents(listed, environment)

    def place(self, path: str) -> str:
        """`COMMIT:FILE` for an object's id, which `pieces` uses as its path."""
        found = re.match(r"git:([0-9a-f]{40,64})(.*)", path, re.S)
        if found is None:
            return path
        return f"{self._prefix}{self._origin(found[1])}{found[2]}"

    def knows(self, path: str) -> bool:
        """Whether the object belongs to this repository."""
        found = re.match(r"git:([0-9a-f]{40,64})", path)
        return found is not None and found[1] in self._kinds

    def _origin(self, one: str) -> str:
        names: list[str] = []
        here = one
        while here in self._parents and len(names) < 200:
            here, name = self._parents[here]
            names.append(name)
        where = "/".join(name for name in reversed(names) if name)
        if self._kinds.get(one) in ("commit", "tag"):
            return f"{one[:10]} (message of a {self._kinds[one]})"
        if self._kinds.get(here) == "commit":
            return f"{here[:10]}:{where}"
        return f"{one[:10]} (in no commit{f', named {where}' if where else ''})"

    def _environment(self, home: Path) -> dict[str, str]:
        """A temporary repository that shares the objects, so that git never reads the settings."""
        (home / "refs").mkdir()
        (home / "objects").mkdir()
        (home / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        is_sha256 = False
        with contextlib.suppress(OSError), (self._repository / "config").open("rb") as file:
            is_sha256 = bool(re.search(rb"objectformat\s*=\s*sha256", file.read(100_000), re.I))
        version = 1 if is_sha256 else 0
        config = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n"
        config += "[extensions]\n\tobjectformat = sha256\n" if is_sha256 else ""
        (home / "config").write_text(config, encoding="utf-8")
        kept = {n: os.environ[n] for n in ("PATH", "SYSTEMROOT", "TMPDIR") if n in os.environ}
        return {
            **kept,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "LC_ALL": "C",
            "GIT_DIR": str(home),
            "GIT_OBJECT_DIRECTORY": str((self._repository / "objects").resolve()),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "none",
        }

    def _git(self, environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
        settings = (
            *("-c", "safe.directory=*", "-c", "core.fsmonitor=false"),
            *("-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never"),
        )
        return subprocess.Popen(  # noqa: S603 - arguments of ours alone
            ["git", *settings, "cat-file", *arguments],  # noqa: S607 - wherever git is here
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _listed(self, environment: dict[str, str]) -> list[_Object]:
        """All objects, loose and packed, whether referenced or not."""
        found: list[_Object] = []
        process = self._git(environment, "--batch-all-objects", "--batch-check", "--unordered")
        with _ended(process) as (_, out):
            for line in out:
                words = line.split()
                if len(words) != 3 or not words[2].isdigit():
                    what = words[0].decode("ascii", "replace") if words else "an object"
                    self._budget.skip(f"{self._prefix}{what}", "git can't read it")
                    continue
                if len(found) >= self._budget.bounds.objects or self._budget.late:
                    self._budget.skip(f"{self._prefix}history", "it has too many objects")
                    break
                found.append(_Object(words[0].decode(), words[1].decode(), int(words[2])))
            else:
                if process.wait(_WAIT_SECONDS) != 0:
                    self._budget.skip(f"{self._prefix}history", "git could not read all of it")
        return found

    def _contents(self, listed: list[_Object], environment: dict[str, str]) -> Iterator[Piece]:
        most = self._budget.bounds.file_bytes
        left = iter(listed)
        for _ in range(_MOST_FAILURES):
            with _ended(self._git(environment, "--batch")) as (into, out):
                for one in left:
                    if self._budget.late:
                        self._budget.skip(f"{self._prefix}history", LATE)
                        return
                    if one.size > most:
                        self._budget.skip(f"{self._prefix}{one.id}", f"it has {one.size} bytes")
                        continue
                    data = _asked(into, out, one)
                    if data is None:
                        self._budget.skip(f"{self._prefix}{one.id}", "git can't read it")
                        break
                    self.objects += 1
                    yield from self._object(one, data)
                else:
                    return
        what = f"git failed {_MOST_FAILURES} times; the remaining objects were not searched"
        self._budget.skip(f"{self._prefix}history", what)

    def _object(self, one: _Object, data: bytes) -> Iterator[Piece]:
        path = f"git:{one.id}"
        self._kinds[one.id] = one.kind
        if one.kind == "tree":
            names = list(_entries(data, len(one.id) // 2))
            for name, other in names:
                if len(self._parents) < _MOST_LINKS:
                    self._parents.setdefault(other, (one.id, name))
            listed = "\n".join(name for name, _ in names)
            yield Piece(path=path, data=listed.encode("utf-8", "surrogateescape"), is_name=True)
            return
        if one.kind == "commit":
            tree = data[5 : 5 + len(one.id)].decode("ascii", "replace")
            self._parents.setdefault(tree, (one.id, ""))
            data = _message(data)
        yield Piece(path=path, data=data)


def _message(commit: bytes) -> bytes:
    """A commit without the ids of its tree and parents, which resemble digests."""
    lines = commit.split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith((b"tree ", b"parent ")))


def _entries(tree: bytes, width: int) -> Iterator[tuple[str, str]]:
    """The names and ids in a tree object."""
    at = 0
    while at < len(tree):
        end = tree.find(b"\0", at)
        if end < 0:
            return
        name = tree[at:end].partition(b" ")[2].decode("utf-8", "surrogateescape")
        yield name, tree[end + 1 : end + 1 + width].hex()
        at = end + 1 + width


def _asked(into: IO[bytes], out: IO[bytes], one: _Object) -> bytes | None:
    try:
        into.write(f"{one.id}\n".encode())
        into.flush()
    except OSError:
        return None
    words = out.readline().split()
    if len(words) != 3 or not words[2].isdigit() or int(words[2]) != one.size:
        return None
    data = out.read(one.size + 1)
    return data[:-1] if len(data) == one.size + 1 else None


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The stdin and stdout of *process*, which is ended on exit."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("git was started without pipes")
    try:
        yield process.stdin, process.stdout
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait(_WAIT_SECONDS)
