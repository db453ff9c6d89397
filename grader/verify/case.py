"""One variant of one problem as the gate looks at it, and what a check may say of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader import units
from grader.draw import draw, loose_paper, numbers, sample_seed
from grader.errors import Location, SetupError
from grader.load.yaml12 import Located, Path_
from grader.model import Facts, Paper, Problem, Variant
from grader.quantity import Quantity, Value


class Given(Mapping[str, object]):
    """What a solution is given: each parameter as a plain number in its declared unit, or text."""

    def __init__(self, parameters: Mapping[str, Value], facts: Facts):
        self._facts = facts
        self._values: dict[str, object] = {}
        for name, value in parameters.items():
            if isinstance(value, Quantity):
                self._values[name] = units.magnitude(value, value.unit or "")
            else:
                self._values[name] = value

    def __getitem__(self, name: str) -> object:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def fact(self, item: str, name: str, unit: str = "") -> float | int | str:
        """A fact as a plain number in *unit*, or as text."""
        value = self._facts[item][name]
        return value if isinstance(value, str) else units.magnitude(value, unit)


Solve = Callable[[Given], Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that does not hold."""

    problem: str
    check: str
    """Which check found it, such as `second-computation`."""
    where: Location
    what: str
    fix: str
    seed: int | None = None
    values: str = ""
    """The variant's numbers, so that the finding can be seen again."""

    def __str__(self) -> str:
        numbers = f": {self.values}" if self.values else ""
        seen = f"\n  seed {self.seed}{numbers}" if self.seed is not None else ""
        return f"{self.where}: {self.what} [{self.check}]{seen}\n  fix: {self.fix}"


@dataclass(frozen=True)
class Case:
    """A variant for one seed of the gate, on a paper of its own."""

    problem: Problem
    source: Located
    facts: Facts
    number: int
    """The seed as the command line counts it."""
    solve: Solve | None
    templates: tuple[Path, ...]
    found: list[Finding] = field(default_factory=list)

    @cached_property
    def variant(self) -> Variant:
        """The variant; raises SpecError when it can't be drawn."""
        return draw(self.problem, sample_seed(self.problem.id, self.number), self.facts)

    @cached_property
    def paper(self) -> Paper:
        """A paper with this one problem."""
        return loose_paper([self.variant], "gate")

    @cached_property
    def values(self) -> str:
        """The drawn numbers in one line."""
        return numbers(self.problem, self.variant.scope)

    def part_path(self, part_id: str) -> Path_:
        """Where a part stands in the YAML."""
        for index, part in enumerate(self.problem.parts):
            if part.id == part_id:
                return ("parts", index)
        return ("parts",)

    def finding(self, check: str, at: Path_, what: str, fix: str) -> Finding:
        """A finding at *at* in the YAML, with this case's seed and numbers."""
        return Finding(
            problem=self.problem.id,
            check=check,
            where=self.source.at(at),
            what=what,
            fix=fix,
            seed=self.number,
            values=self.values,
        )


def load_solve(path: Path) -> Solve:
    """The function `solve` of a solution file; raises SetupError. Runs the file."""
    import importlib.util

    name = "grader_solution_" + hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - a path to .py always has one
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - whatever an author's file raises is theirs to see
        raise SetupError(
            f"the solution can't be loaded: {type(error).__name__}: {error}",
            where=Location(str(path), _line_of(error, path)),
            fix="run the file with python to see the traceback",
        ) from None
    solve = getattr(module, "solve", None)
    if not callable(solve):
        raise SetupError(
            "the solution has no function 'solve(given)'",
            where=Location(str(path)),
            fix="see `grader new` for a commented example",
        )
    return solve  # type: ignore[no-any-return]


def _line_of(error: BaseException, path: Path) -> int | None:
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def failure_line(error: BaseException, path: Path) -> Location:
    """Where in the solution file an exception came from."""
    return Location(str(path), _line_of(error, path))
