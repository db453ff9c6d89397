"""Where problems, sets, facts, solutions and templates are found: one or more bank folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader.errors import Location, SetupError, SpecError, SpecErrors
from grader.kinds import kinds
from grader.load.exam import load_exam
from grader.load.facts import load_facts
from grader.load.problem import digest_of, load_problem
from grader.load.yaml12 import Located
from grader.model import ExamSet, Facts, Problem, Slot
from grader.registry import nearest

_NOT_PROBLEMS = {"sets", "facts"}


def own_bank() -> Path:
    """The bank that comes with the package: inside it when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_bank"
    return installed if installed.is_dir() else package.parent


@dataclass(frozen=True)
class Bank:
    """Folders with `problems/`, `solutions/` and perhaps `templates/`, searched in order."""

    folders: tuple[Path, ...]
    """Searched in this order; the package's own stands last."""
    named: tuple[Path, ...] = ()
    """Those that somebody named; empty when the package's own is what is meant."""
    _loaded: dict[str, tuple[Problem, Located]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, named: Sequence[str | Path] = ()) -> Bank:
        """The banks that are *named*, or in GRADER_BANK, or else the package's own.

        The package's own stands behind the others, so that a course's sets may use its problems.
        """
        wanted = [Path(p) for p in named]
        if not wanted:
            listed = os.environ.get("GRADER_BANK", "")
            wanted = [Path(p) for p in listed.split(os.pathsep) if p]
        for folder in wanted:
            if not (folder / "problems").is_dir():
                raise SetupError(
                    f"'{folder}' is not a bank: it has no folder 'problems'",
                    fix="name the folder that holds problems/ and solutions/",
                )
        own = own_bank()
        others = tuple(p for p in wanted if p.resolve() != own)
        return cls((*others, own), tuple(wanted))

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The ids of the problems in the banks that were named; a set may use others too."""
        if not self.named:
            return tuple(self.paths)
        homes = {p.resolve() for p in self.named}
        found = self.paths.items()
        return tuple(n for n, p in found if p.resolve().parent.parent.parent in homes)

    @cached_property
    def listed_sets(self) -> tuple[str, ...]:
        """The ids of the sets in the banks that were named."""
        if not self.named:
            return tuple(self.set_paths)
        homes = {p.resolve() for p in self.named}
        found = self.set_paths.items()
        return tuple(n for n, p in found if p.resolve().parent.parent.parent in homes)

    @cached_property
    def paths(self) -> Mapping[str, Path]:
        """Problem id to the YAML file; an earlier bank hides a later one's problem of that name."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path in sorted((folder / "problems").glob("*/*.yaml")):
                if path.parent.name not in _NOT_PROBLEMS:
                    found.setdefault(path.stem, path)
        return found

    @cached_property
    def set_paths(self) -> Mapping[str, Path]:
        """Set id to the YAML file."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path in sorted((folder / "problems" / "sets").glob("*.yaml")):
                found.setdefault(path.stem, path)
        return found

    @cached_property
    def facts(self) -> Facts:
        """The facts of all banks; an earlier bank's item hides a later one's."""
        merged: dict[str, Mapping[str, object]] = {}
        for folder in reversed(self.folders):
            merged.update(load_facts(folder / "problems" / "facts"))
        return merged  # type: ignore[return-value]

    @property
    def templates(self) -> tuple[Path, ...]:
        """Folders of templates, those that override first."""
        folders = tuple(f / "templates" for f in self.folders)
        return tuple(f for f in folders if f.is_dir())

    def path(self, wanted: str) -> Path:
        """The file of the problem *wanted*: an id, or a path to YAML."""
        if wanted.endswith((".yaml", ".yml")):
            return Path(wanted)
        if wanted in self.paths:
            return self.paths[wanted]
        close = nearest(wanted, self.paths)
        raise SetupError(
            f"there is no problem '{wanted}'",
            fix=f"did you mean '{close}'?" if close else "see `grader list`",
        )

    def problem(self, wanted: str) -> Problem:
        """The problem with that id or path."""
        return self.located(wanted)[0]

    def located(self, wanted: str) -> tuple[Problem, Located]:
        """The problem, and where everything in it stands."""
        if wanted not in self._loaded:
            path = self.path(wanted)
            problem, source = load_problem(path)
            folder = path.resolve().parent.name
            if wanted in self.paths and folder != problem.family:
                raise SpecErrors(
                    (
                        SpecError(
                            f"the family '{problem.family}' is not the folder's name '{folder}'",
                            where=source.at(("family",)),
                            fix="move the file, or change the family",
                        ),
                    )
                )
            self._loaded[wanted] = self._with_solution(wanted, problem, source)
        return self._loaded[wanted]

    def _with_solution(
        self, wanted: str, problem: Problem, source: Located
    ) -> tuple[Problem, Located]:
        """The problem with the text of its solution, where hidden cases are in it."""
        if not any(kinds.find(p.kind).needs_solution for p in problem.parts):
            return problem, source
        path = self.solution(wanted)
        if path is None:
            raise SpecErrors(
                (
                    SpecError(
                        "there is no solution file, and a part needs its hidden cases",
                        where=source.at(("parts",)),
                        fix=f"write solutions/{problem.family}/{problem.id}.py",
                    ),
                )
            )
        return replace(problem, solution=path.read_text(encoding="utf-8")), source

    def problems(self) -> Iterator[Problem]:
        """Every problem of the banks that were named; raises SpecErrors for all their files."""
        errors: list[SpecError] = []
        found: list[Problem] = []
        for name in self.listed:
            try:
                found.append(self.problem(name))
            except SpecErrors as wrong:
                errors += wrong.errors
            except SpecError as wrong:
                errors.append(wrong)
        if errors:
            raise SpecErrors(tuple(errors))
        yield from found

    def digest(self, wanted: str) -> str:
        """The SHA-256 of the problem's spec."""
        problem, source = self.located(wanted)
        return digest_of(source.data, problem.solution)

    def exam(self, wanted: str) -> ExamSet:
        """The set with that id, or in that YAML file."""
        exam, path = self._exam(wanted)
        for slot in exam.slots:
            self._check_parts(slot, path)
        return exam

    def _check_parts(self, slot: Slot, path: Path) -> None:
        """Refuses parts that the problem does not have, or that need one that is not asked."""
        if not slot.parts or not slot.problem:
            return
        parts = {p.id: p for p in self.problem(slot.problem).parts}
        for name in slot.parts:
            if name not in parts:
                close = nearest(name, parts)
                raise SpecError(
                    f"'{slot.problem}' has no part '{name}'",
                    where=Location(str(path)),
                    fix=f"did you mean '{close}'?" if close else "it has: " + ", ".join(parts),
                )
            left_out = [u for u in parts[name].uses if u not in slot.parts]
            if left_out:
                raise SpecError(
                    f"part '{name}' of '{slot.problem}' uses '{left_out[0]}', which is not asked",
                    where=Location(str(path)),
                    fix=f"add '{left_out[0]}' to 'parts:'",
                )

    def _exam(self, wanted: str) -> tuple[ExamSet, Path]:
        if wanted.endswith((".yaml", ".yml")):
            return load_exam(Path(wanted), self.paths), Path(wanted)
        if wanted not in self.set_paths:
            close = nearest(wanted, self.set_paths)
            known = ", ".join(sorted(self.set_paths)) or "none"
            raise SetupError(
                f"there is no set '{wanted}'",
                fix=f"did you mean '{close}'?" if close else f"known sets: {known}",
            )
        return load_exam(self.set_paths[wanted], self.paths), self.set_paths[wanted]

    def solution(self, problem_id: str) -> Path | None:
        """The file with the second computation; None when there is none."""
        path = self.path(problem_id).resolve()
        beside = path.parent.parent.parent / "solutions" / path.parent.name / f"{path.stem}.py"
        return beside if beside.is_file() else None

    def concepts(self) -> Mapping[str, Mapping[str, str]]:
        """The concept inventory: id to topic, family and a sentence."""
        from grader.load.yaml12 import read_yaml

        merged: dict[str, Mapping[str, str]] = {}
        for folder in reversed(self.folders):
            path = folder / "problems" / "concepts.yaml"
            if path.is_file():
                data = read_yaml(path).data
                if not isinstance(data, dict):
                    raise SpecError("expected ids of concepts", where=Location(str(path)))
                merged.update(data)
        return merged
