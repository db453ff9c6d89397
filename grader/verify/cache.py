"""Remembers which problems passed the gate, by a digest of everything that the gate depends on.

A file in the user's cache folder maps digests to results. Only problems without findings are in it,
because a finding may contain the key.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.files import PACKAGE, write_atomic
from grader.model import packages

if TYPE_CHECKING:
    from grader.bank.folders import Bank

_MOST = 5_000
"""Results that are kept; the oldest are dropped."""
_LIBRARIES = ("numpy", "jinja2", "pydantic", "ipykernel", *packages.PACKAGES)
_PLUG_INS = ("grader.kinds", "grader.figures")
"""The groups of the plug-ins that decide whether a problem passes."""
_FIELDS = ("problem", "seeds", "distinct", "hit_rate", "concepts", "unrun")
"""The fields of a result that are kept."""


def cache_file() -> Path:
    """Returns the file with the results, in `$XDG_CACHE_HOME` or `~/.cache`."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "systems-grader" / "verified.json"


class ResultCache:
    """The results of earlier runs. A file that can't be read counts as empty."""

    def __init__(self, bank: Bank, seeds: int, *, kernel: bool, file: Path | None = None):
        self._bank = bank
        self._how = [seeds, kernel]
        self._file = file or cache_file()

    @cached_property
    def _kept_results(self) -> dict[str, dict[str, Any]]:
        """The stored results by digest; empty if the file can't be read."""
        try:
            data = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(data, dict):
            return {}
        return {k: v for k, v in data.items() if isinstance(v, dict) and set(v) == set(_FIELDS)}

    def find(self, name: str) -> dict[str, Any] | None:
        """Returns the fields of the result for the problem *name*; None if it has changed or is
        new."""
        fields = self._kept_results.get(self._digest(name) or "")
        if fields is None:
            return None
        lists = {name: tuple(fields[name]) for name in ("concepts", "unrun")}
        return {**fields, **lists}

    def add(self, name: str, result: Any) -> None:
        """Adds the result of a problem that passed; `save` writes it."""
        digest = self._digest(name)
        if digest is not None:
            self._kept_results.pop(digest, None)
            self._kept_results[digest] = {field: getattr(result, field) for field in _FIELDS}

    def save(self) -> None:
        """Writes all results; does nothing if the folder can't be written."""
        kept = dict(list(self._kept_results.items())[-_MOST:])
        with contextlib.suppress(OSError, GraderError):
            write_atomic(self._file, json.dumps(kept).encode(), private=True)

    def _digest(self, name: str) -> str | None:
        """Returns the digest of a problem and of all that its result depends on; None if it has no
        file."""
        try:
            files = [self._bank.path(name), self._bank.solution(name)]
            return _hash_files([name, *self._how, self._environment_digest], filter(None, files))
        except (OSError, GraderError):
            return None

    @cached_property
    def _environment_digest(self) -> str:
        """The digest of the engine, the libraries, the plug-ins, the facts, and the templates."""
        from importlib.metadata import PackageNotFoundError, entry_points, version

        versions: list[object] = [sys.version, platform.platform(), platform.machine()]
        for library in _LIBRARIES:
            with contextlib.suppress(PackageNotFoundError):
                versions.append([library, version(library)])
        points = [p for group in _PLUG_INS for p in entry_points(group=group)]
        versions += [[p.group, p.name, p.value, p.dist and p.dist.version] for p in points]
        versions.append(packages.missing_packages(packages.PACKAGES))
        modules = sorted({p.module.partition(".")[0] for p in points})
        files = (file for module in modules for file in _files_of_module(module))
        return _hash_files(versions, chain(self._iter_shared_files(), files))

    def _iter_shared_files(self) -> Iterator[Path]:
        """Yields the files that affect all problems: the engine's, facts, and templates."""
        yield from sorted(PACKAGE.rglob("*.py"))
        for folder in self._bank.folders:
            yield from sorted((folder / "problems" / "facts").glob("*.yaml"))
            yield from (folder / "problems").glob("families.yaml")
        for folder in self._bank.templates:
            yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _files_of_module(name: str) -> Iterator[Path]:
    """Yields the source files of a module or package of a plug-in, whose author may be editing
    it."""
    with contextlib.suppress(ImportError, ValueError):
        if (spec := find_spec(name)) is not None:
            if spec.origin is not None and spec.origin.endswith(".py"):
                yield Path(spec.origin)
            for folder in spec.submodule_search_locations or ():
                yield from sorted(Path(folder).rglob("*.py"))


def _hash_files(values: object, files: Iterable[Path]) -> str:
    """Returns the digest of *values* and of the contents of *files*."""
    digest = hashlib.sha256(json.dumps(values).encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
