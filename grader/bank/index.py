"""Finds the files of one or more banks by id, without reading any problem."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn, Self

from grader.bank.families import NOT_FAMILIES, declared_families, family_fix
from grader.bank.yaml12 import Located, read_yaml
from grader.errors import Location, SetupError, SpecError, SpecErrors
from grader.model import FAMILIES
from grader.registry import suggest

_OF_SETS = {"problems", "blueprint"}
"""Keys that sets have, and problems don't."""
STATISTICS = ".stats.yaml"
"""The end of the names of files with statistics, which are beside the specs."""
_OWN = "the bank that comes with the package"


def own_bank() -> Path:
    """Returns the bank that comes with the package: inside it when installed, beside it in a
    checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_bank"
    return installed if installed.is_dir() else package.parent


@dataclass(frozen=True)
class BankIndex:
    """Folders with `problems/`, `solutions/`, and optionally `templates/`, searched in order."""

    folders: tuple[Path, ...]
    """All banks in search order; that of the package is last."""
    named_folders: tuple[Path, ...] = ()
    """The banks that the user named; empty for that of the package."""

    @classmethod
    def open(cls, named: Sequence[str | Path] = ()) -> Self:
        """Returns the banks in *named*, or else in GRADER_BANK, or else that of the package.

        The package's bank is always searched last, so that a course's sets may use its problems.
        Raises SetupError if a folder is not a bank.
        """
        roots = [Path(p) for p in named]
        if not roots:
            listed = os.environ.get("GRADER_BANK", "")
            roots = [Path(p) for p in listed.split(os.pathsep) if p]
        for folder in roots:
            _check_bank(folder)
        own = own_bank()
        others = tuple(p for p in roots if p.resolve() != own)
        return cls((*others, own), tuple(roots))

    @property
    def bank_names(self) -> str:
        """The names of the banks for error messages."""
        own = own_bank()
        names = [f"'{p}'" for p in self.folders if p.resolve() != own]
        return " or ".join([*names, _OWN])

    @cached_property
    def listed_problems(self) -> tuple[str, ...]:
        """The ids of the problems in the named banks. A set may use others too."""
        return tuple(self._ids_in_named_folders(self.paths))

    @cached_property
    def listed_sets(self) -> tuple[str, ...]:
        """The ids of the sets in the named banks."""
        return tuple(self._ids_in_named_folders(self.set_paths))

    def _ids_in_named_folders(self, paths: Mapping[str, Path]) -> Iterator[str]:
        """Yields the ids in *paths* whose files are in the named banks."""
        homes = {p.resolve() for p in self.named_folders or self.folders}
        banks = {folder for folder in self.folders if folder.resolve() in homes}
        yield from (n for n, p in paths.items() if p.parent.parent.parent in banks)

    @cached_property
    def paths(self) -> Mapping[str, Path]:
        """Maps problem ids to YAML files; problems of earlier banks override later ones."""
        return {name: files[0] for name, files in self._files.items()}

    @cached_property
    def _files(self) -> Mapping[str, tuple[Path, ...]]:
        """Maps problem ids to the files in the first bank that has them; several are an error."""
        files_by_id: dict[str, tuple[Path, ...]] = {}
        for folder in self.folders:
            here: dict[str, tuple[Path, ...]] = {}
            for family in self._family_folders(folder):
                for path in _list_entries(family, _is_yaml):
                    here[path.stem] = (*here.get(path.stem, ()), path)
            files_by_id.update(
                {name: files for name, files in here.items() if name not in files_by_id}
            )
        return files_by_id

    @cached_property
    def set_paths(self) -> Mapping[str, Path]:
        """Maps set ids to YAML files."""
        paths: dict[str, Path] = {}
        for folder in self.folders:
            for path in _list_entries(folder / "problems" / "sets", _is_yaml):
                paths.setdefault(path.stem, path)
        return paths

    @cached_property
    def families(self) -> Mapping[str, str]:
        """Maps built-in and declared families to their titles.

        If a bank's declarations can't be read, all its folders count as families, so that the error
        is reported only once.
        """
        merged = dict(FAMILIES)
        for folder in self.folders:
            declared, errors = declared_families(folder)
            if errors:
                declared = {p.name: p.name for p in self._family_folders(folder)}
            merged.update({k: v for k, v in declared.items() if k not in merged})
        return merged

    def faults(self) -> tuple[SpecError, ...]:
        """Returns the errors of the named banks that belong to no problem: unreadable folders and
        wrong declarations of families."""
        errors: list[SpecError] = []
        for folder in self.named_folders or self.folders:
            for family in self._family_folders(folder, errors):
                _list_entries(family, _is_yaml, errors)
            for other in NOT_FAMILIES:
                _list_entries(folder / "problems" / other, _is_yaml, errors)
            errors += declared_families(folder)[1]
        return tuple(errors)

    def _family_folders(self, bank: Path, errors: list[SpecError] | None = None) -> list[Path]:
        return _list_entries(
            bank / "problems", lambda e: e.name not in NOT_FAMILIES and e.is_dir(), errors
        )

    @property
    def templates(self) -> tuple[Path, ...]:
        """The template folders, in order of precedence."""
        folders = tuple(f / "templates" for f in self.folders)
        return tuple(f for f in folders if f.is_dir())

    def path(self, wanted: str) -> Path:
        """Returns the file of the problem *wanted*, an id or a path to YAML.

        Raises SetupError or SpecError if it does not exist or exists twice.
        """
        if wanted.endswith((".yaml", ".yml")):
            return Path(wanted)
        files = self._files.get(wanted, ())
        if len(files) > 1:
            others = " and ".join(f"'{path}'" for path in files[1:])
            raise SpecError(
                f"the problem '{wanted}' exists twice: also {others}",
                where=Location(str(files[0])),
                fix="rename one of the files, and its id",
            )
        if not files:
            self._raise_not_found("problem", wanted, self._files)
        return files[0]

    def is_set(self, wanted: str) -> bool:
        """Returns whether *wanted*, an id or a path to YAML, is a set rather than a problem."""
        if not wanted.endswith((".yaml", ".yml")):
            return wanted in self.set_paths and wanted not in self._files
        data = read_yaml(Path(wanted)).data
        return isinstance(data, dict) and "parts" not in data and bool(_OF_SETS & data.keys())

    def set_path(self, wanted: str) -> Path:
        """Returns the file of the set *wanted*, an id or a path to YAML; raises SetupError."""
        if wanted.endswith((".yaml", ".yml")):
            return Path(wanted)
        if wanted not in self.set_paths:
            if wanted in self._files:
                raise SetupError(
                    f"'{wanted}' is a problem, and a set is needed",
                    fix=f"list it in a set file, or see it with `grader show {wanted}`",
                )
            self._raise_not_found("set", wanted, self.set_paths)
        return self.set_paths[wanted]

    def _raise_not_found(self, noun: str, wanted: str, known: Mapping[str, object]) -> NoReturn:
        """Raises SetupError for the unknown *wanted*, or SpecErrors if the bank has faults."""
        listing = "grader list --sets" if noun == "set" else "grader list"
        fix = f"see `{listing}`, or name another bank with --bank DIR or GRADER_BANK"
        error = SetupError(
            f"there is no {noun} '{wanted}' in {self.bank_names}",
            fix=suggest(wanted, known, fix),
        )
        faults = self.faults()
        if faults:  # it may be in an unreadable folder
            raise SpecErrors((SpecError(error.what, fix=error.fix), *faults))
        raise error

    def check_family(self, wanted: str) -> None:
        """Raises SetupError unless *wanted* is a family of these banks."""
        if wanted not in self.families:
            raise SetupError(
                f"there is no family '{wanted}' in {self.bank_names}",
                fix=family_fix(wanted, self.families),
            )

    def solution(self, problem_id: str) -> Path | None:
        """Returns the solution file of a problem; None if there is none."""
        path = self.path(problem_id).resolve()
        beside = path.parent.parent.parent / "solutions" / path.parent.name / f"{path.stem}.py"
        return beside if beside.is_file() else None

    def concepts(self) -> Mapping[str, Mapping[str, str]]:
        """Returns the concept inventory: maps ids to topic, family and a sentence; raises
        SpecError."""
        merged: dict[str, Mapping[str, str]] = {}
        for folder in reversed(self.folders):
            path = folder / "problems" / "concepts.yaml"
            if path.is_file():
                source = read_yaml(path)
                _check_concepts(source)
                merged.update(source.data)
        return merged


def _list_entries(
    folder: Path, wanted: Callable[[os.DirEntry[str]], bool], errors: list[SpecError] | None = None
) -> list[Path]:
    """Returns the *wanted* entries of *folder*, sorted by name; empty if it does not exist or can't
    be read, which adds an error to *errors*."""
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if not e.name.startswith(".") and wanted(e)]
    except FileNotFoundError:
        return []
    except OSError as error:
        if errors is not None:
            errors.append(
                SpecError(
                    f"can't read the folder: {(error.strerror or '').lower()}",
                    where=Location(str(folder)),
                    fix="check its permissions",
                )
            )
        return []
    return [folder / name for name in sorted(names)]


def _is_yaml(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".yaml") and not entry.name.endswith(STATISTICS)


def _check_bank(folder: Path) -> None:
    """Raises SetupError unless *folder* is a bank whose problems can be listed."""
    problems = folder / "problems"
    try:
        with os.scandir(problems):
            return
    except (FileNotFoundError, NotADirectoryError):
        raise SetupError(
            f"'{folder}' is not a bank: it has no folder 'problems'",
            fix="give the folder that contains problems/ and solutions/",
        ) from None
    except OSError as error:
        raise SetupError(
            f"can't read the folder '{problems}': {(error.strerror or '').lower()}",
            fix="check its permissions and those of the folders above it",
        ) from None


def _check_concepts(source: Located) -> None:
    """Raises SpecError unless every concept has a family."""
    fix = "write lines such as 'mem-01: {family: memory-math, topic: kv-cache, sentence: ...}'"
    if not isinstance(source.data, dict):
        raise source.error((), "expected concepts by id", fix)
    errors = [
        source.error((name,), f"the concept '{name}' has no family", fix)
        for name, concept in source.data.items()
        if not (isinstance(concept, dict) and isinstance(concept.get("family"), str))
    ]
    if errors:
        raise SpecErrors(tuple(errors))
