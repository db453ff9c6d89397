"""The gate for one problem: every check on every variant."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TypeVar

from grader.bank.folders import Bank
from grader.draw import MAX_DRAWS
from grader.errors import GraderError, Location, SetupError, SpecError
from grader.kinds import kinds
from grader.kinds.attempts import Code, required_packages
from grader.model import Problem, Variant, packages
from grader.units.quantity import Quantity
from grader.verify.case import CODE_SEEDS, Case, Finding
from grader.verify.checks import CHECKS, check_draw
from grader.verify.code import describe_unrun
from grader.verify.rank_pool import keep_ranks
from grader.verify.solutions import load_file, load_solve
from grader.verify.variants import check_all_variants, group_findings

T = TypeVar("T")
OF_VARIANTS = frozenset(["variants-differ", "hit-rate"])
"""Checks of how variants are drawn, not of keys and marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The gate's result for one problem."""

    problem: str
    seeds: int = 0
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    distinct: int = 0
    """The number of different sets of numbers over all seeds."""
    hit_rate: float = 1.0
    """The share of draws that satisfied `where`."""
    errors: tuple[str, ...] = ()
    """Errors of the spec itself, ready to print; if there are any, nothing else was checked."""
    concepts: tuple[str, ...] = ()
    """The ids of the concepts that the problem cites."""
    unrun: tuple[str, ...] = ()
    """Parts whose code this machine can't run, with the missing packages."""
    missing_packages: tuple[str, ...] = ()
    """Missing packages that prevented the checks."""
    kernel: tuple[str, ...] = ()
    """What went wrong when a kernel ran the right answers, a sentence for each part."""
    is_cached: bool = False
    """Whether an earlier run checked it, and nothing has changed since."""

    @property
    def holds(self) -> bool:
        """Whether the problem was checked without findings."""
        return not self.findings and not self.errors and not self.missing_packages


def verify_problem(
    bank: Bank, name: str, seeds: int = 50, code_seeds: int = CODE_SEEDS
) -> Verified:
    """Runs the gate on one problem with *seeds* variants; code is run for fewer.

    If an author's code makes a check raise, only that problem gets an error.
    """
    try:
        # What an author's code prints is not part of the report, which may be JSON.
        with redirect_stdout(StringIO()):
            return _check_problem(bank, name, seeds, code_seeds)
    except GraderError as wrong:
        return error_result(name, wrong)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        frame = traceback.extract_tb(error.__traceback__)[-1]
        what = f"a check raised {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
        return error_result(name, GraderError(what, where=Location(str(bank.path(name)))))


def error_result(name: str, wrong: GraderError) -> Verified:
    """Returns the result for a problem that can't be loaded, drawn, or listed."""
    errors = wrong.errors if isinstance(wrong, SpecError) else (wrong,)
    return Verified(problem=name, errors=tuple(map(str, errors)))


def _check_problem(bank: Bank, name: str, seeds: int, code_seeds: int) -> Verified:
    """Draws *seeds* variants of the problem, and runs every check on them."""
    started = time.perf_counter()
    problem, source = bank.locate(name)
    path = bank.solution(name)
    if lacking := _missing_packages(problem, path):
        return Verified(
            problem=problem.id, missing_packages=lacking, concepts=tuple(problem.concepts)
        )
    findings: list[Finding] = []
    has_answers = any(not kinds.find(p.kind).needs_solution for p in problem.parts)
    solve = _load(bank, name, problem, load_solve) if has_answers else None
    if problem.solution and isinstance(broken := _load(bank, name, problem, load_file), Finding):
        # The checks of code look into the solution file.
        return Verified(problem=problem.id, findings=(broken,))
    if isinstance(solve, Finding):
        findings, solve = [solve], None
    first = Case(problem, source, bank.facts, 0, solve, bank.templates, code_seeds)
    cases = [replace(first, number=number, right={}, samples={}) for number in range(seeds)]
    gc.freeze()  # solutions that measure memory collect garbage, which would look at all libraries
    variants: list[Variant] = []
    checked = 0
    with ExitStack() as stack:
        for case in cases:
            checked += 1
            draw_findings = list(check_draw(case))
            findings += draw_findings
            if draw_findings:
                continue
            if not variants:
                stack.enter_context(keep_ranks(case.variant.keys.values()))
            variants.append(case.variant)
            for check in CHECKS:
                findings += check(case)
            if any("TimeoutError" in f.what for f in findings):
                break  # a solution that never returns would time out for every seed
    distinct = len({tuple(map(_without_unit, v.draw.parameters.values())) for v in variants})
    draws = sum(v.draws for v in variants)
    hit_rate = len(variants) / draws if draws else 1 / MAX_DRAWS
    if variants:
        findings += check_all_variants(cases[0], variants, distinct, hit_rate)
    return Verified(
        problem=problem.id,
        seeds=seeds,
        findings=group_findings(findings, checked, code_seeds),
        seconds=time.perf_counter() - started,
        distinct=distinct,
        hit_rate=hit_rate,
        concepts=tuple(problem.concepts),
        unrun=tuple(describe_unrun(problem)),
    )


def _missing_packages(problem: Problem, solution: Path | None) -> tuple[str, ...]:
    """Returns the missing packages without which the problem can't be checked.

    If a part declares the packages it needs, only that part is skipped.
    """
    text = solution.read_text(encoding="utf-8", errors="replace") if solution else ""
    code = (part for part in problem.parts if isinstance(part, Code))
    parts = (name for part in code for name in required_packages(part, text))
    declared = {name for part in problem.parts for name in getattr(part, "needs", ())}
    needed = {*packages.imported_packages(text), *parts} - declared
    needed.update(packages.imported_packages(text, at_load=True))
    return packages.missing_packages(name for name in packages.PACKAGES if name in needed)


def _without_unit(value: object) -> object:
    return value.magnitude if isinstance(value, Quantity) else value


def _load(bank: Bank, name: str, problem: Problem, load: Callable[[Path], T]) -> T | Finding:
    """Returns what *load* makes of the solution file, or the finding that it can't be loaded."""
    path = bank.solution(name)
    try:
        if path is None:
            raise SetupError(
                "no solution file exists, so nothing confirms the keys",
                fix=f"write solutions/{problem.family}/{problem.id}.py with solve(given)",
            )
        return load(path)
    except SetupError as error:
        place = Location(str(path or bank.path(name)))
        return Finding(
            problem=problem.id,
            check="second-computation",
            where=error.where if isinstance(error.where, Location) else place,
            what=error.what,
            fix=error.fix or "correct the file",
        )
