"""Reads every object of a git repository, including unreferenced ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from grader.errors import SetupError
from grader.security.leaks.records import LATE, Piece, SearchBudget


class GitObjects:
    """One repository. Its settings are not read, and nothing in it is run."""

    def __init__(self, repository: Path, name: str, budget: SearchBudget):
        """Prepares to search *repository*. Findings call it *name*, which is empty for the searched
        folder itself."""
        self._repository = repository
        self._prefix = f"{name}: " if name else ""
        self._budget = budget
        self.objects = 0
        # Maps a tree or blob to a tree or commit that contains it, and its name there.
        self._parents: dict[str, tuple[str, str]] = {}
        self._kinds: dict[str, str] = {}

    def pieces(self) -> Iterator[Piece]:
        """Yields contents, messages, and names; `place` computes the paths afterward."""
        if shutil.which("git") is None:
            raise SetupError(
                "the folder has a git history, but git is not installed",
                where=str(self._repository),
                fix="install git, or search a copy without .git",
            )
        with tempfile.TemporaryDirectory(prefix="grader-leaks-") as home:
            process = subprocess.Popen(
                ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],  # noqa: S607 - wherever git is here
                env=self._environment(Path(home)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            with process:
                if process.stdout is not None:
                    yield from self._read_objects(process.stdout)
                if self._budget.is_late:
                    process.kill()
            if process.returncode != 0:
                self._budget.skip(
                    f"{self._prefix}history",
                    LATE if self._budget.is_late else "git can't read all of it",
                )

    def _environment(self, home: Path) -> dict[str, str]:
        """Returns the variables for a temporary repository that shares the objects, so that git
        never reads the settings."""
        (home / "refs").mkdir()
        (home / "objects").mkdir()
        (home / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        try:
            with (self._repository / "config").open("rb") as file:
                settings = file.read(100_000)
        except OSError:
            settings = b""
        config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
        if re.search(rb"objectformat\s*=\s*sha256", settings, re.I):
            config += "[extensions]\n\tobjectformat = sha256\n"
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
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }

    def _read_objects(self, out: IO[bytes]) -> Iterator[Piece]:
        """Yields a piece for each object in *out*: git prints id, kind, size, and contents."""
        most = self._budget.bounds.file_bytes
        while header := out.readline():
            words = header.decode("ascii", "replace").split()
            if len(words) != 3 or not words[2].isdigit():
                self._budget.skip(f"{self._prefix}{' '.join(words)[:60]}", "git can't read it")
                continue
            if self._budget.is_late:
                return
            id_, kind, size = words[0], words[1], int(words[2])
            data = out.read(min(size, most))
            unread = size - len(data)
            while unread > 0 and (part := out.read(min(unread, 2**20))):
                unread -= len(part)
            out.readline()
            if size > most or unread:
                why = f"it has more than {most} bytes" if size > most else "git can't read it"
                self._budget.skip(f"{self._prefix}{id_}", why)
            self.objects += 1
            yield self._record_object(id_, kind, data)

    def _record_object(self, id_: str, kind: str, data: bytes) -> Piece:
        """Returns an object's contents or a tree's names, and records what contains what."""
        path = f"git:{id_}"
        self._kinds[id_] = kind
        if kind == "tree":
            entries = list(_tree_entries(data, len(id_) // 2))
            for name, other in entries:
                self._parents.setdefault(other, (id_, name))
            names = "\n".join(name for name, _ in entries)
            return Piece(path=path, data=names.encode("utf-8", "surrogateescape"), is_name=True)
        if kind == "commit":
            self._parents.setdefault(data[5 : 5 + len(id_)].decode("ascii", "replace"), (id_, ""))
            # Ids of trees and parents resemble secrets.
            lines = data.split(b"\n")
            data = b"\n".join(row for row in lines if not row.startswith((b"tree ", b"parent ")))
        return Piece(path=path, data=data)

    def place(self, path: str) -> str | None:
        """Returns `COMMIT:FILE` for an object's path; None if it is not of this repository."""
        match = re.match(r"git:([0-9a-f]{40,64})(.*)", path, re.S)
        if match is None or match[1] not in self._kinds:
            return None
        return f"{self._prefix}{self._describe_origin(match[1])}{match[2]}"

    def _describe_origin(self, id_: str) -> str:
        """Returns the commit and the path of an object, or why it has none."""
        names: list[str] = []
        here = id_
        while here in self._parents and len(names) < 200:
            here, name = self._parents[here]
            names.append(name)
        where = "/".join(name for name in reversed(names) if name)
        if self._kinds.get(id_) in ("commit", "tag"):
            return f"{id_[:10]} (message of a {self._kinds[id_]})"
        if self._kinds.get(here) == "commit":
            return f"{here[:10]}:{where}"
        return f"{id_[:10]} (in no commit{f', named {where}' if where else ''})"


def _tree_entries(tree: bytes, width: int) -> Iterator[tuple[str, str]]:
    """Yields the names and ids in a tree object."""
    at = 0
    while (end := tree.find(b"\0", at)) >= 0:
        name = tree[at:end].partition(b" ")[2].decode("utf-8", "surrogateescape")
        yield name, tree[end + 1 : end + 1 + width].hex()
        at = end + 1 + width
