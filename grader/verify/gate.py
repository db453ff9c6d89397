"""The gate: every check on every variant of every problem, in parallel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from grader import executors
from grader.draw import MAX_DRAWS
from grader.errors import GraderError, Location, SetupError, SpecError, SpecErrors
from grader.kinds import kinds
from grader.load import Bank
from grader.model import Problem, Variant
from grader.quantity import Quantity
from grader.verify.case import CODE_SEEDS, Case, Finding
from grader.verify.checks import CHECKS, drawable
from grader.verify.code import unrun
from grader.verify.grouping import grouped
from grader.verify.numbers import cells_of
from grader.verify.solutions import Solve, load_solve

# Fewer different variants than this, and neighbours in a room share their numbers.
FEWEST_VARIANTS = 8
LOWEST_HIT_RATE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the gate found for one problem."""

    problem: str
    seeds: int
    findings: tuple[Finding, ...]
    seconds: float
    distinct: int = 0
    """How many different sets of numbers the seeds drew."""
    hit_rate: float = 1.0
    """The share of draws that satisfied `where`."""
    errors: tuple[str, ...] = ()
    """Errors of the spec itself, ready to print; nothing else was checked then."""
    unrun: tuple[str, ...] = ()
    """Parts whose code this machine can't run, and what it lacks."""

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.findings and not self.errors


def verify(
    folders: Sequence[str | Path],
    wanted: Sequence[str] = (),
    *,
    seeds: int = 50,
    jobs: int | None = None,
    progress: Callable[[Verified], None] | None = None,
) -> tuple[Verified, ...]:
    """The gate's result for each of the *wanted* problems, or for all of the banks."""
    bank = Bank.open(folders)
    names = tuple(wanted) or bank.listed
    for name in wanted:
        bank.path(name)  # an unknown name is an error before anything runs
    jobs = min(jobs or os.cpu_count() or 1, len(names) or 1)
    results = [] if wanted else list(_broken_files(bank))
    for result in _mapped(tuple(str(f) for f in folders), names, seeds, jobs):
        results.append(result)
        if progress:
            progress(result)
    return tuple(results)


def _broken_files(bank: Bank) -> Iterator[Verified]:
    """A result for each folder, facts file and set that can't be read; every other file of a bank
    is a problem, with a result of its own."""
    for error in (*bank.faults(), *bank.facts.errors):
        yield _broken(str(getattr(error.where, "file", error.where)), error)
    for name in bank.listed_sets:
        path = str(bank.set_paths[name])
        try:
            bank.exam(name)
        except SpecError as error:
            errors = error.errors if isinstance(error, SpecErrors) else (error,)
            # A problem of the set that is broken has its own result.
            own = tuple(e for e in errors if getattr(e.where, "file", None) == path)
            if own:
                yield _broken(path, SpecErrors(own))


def _mapped(
    folders: tuple[str, ...], names: tuple[str, ...], seeds: int, jobs: int
) -> Iterator[Verified]:
    if jobs == 1:
        bank = Bank.open(folders)
        yield from (verify_problem(bank, name, seeds) for name in names)
        return
    with executors.open(f"processes:{jobs}") as pool:
        yield from pool.map(partial(_verify_one, folders, seeds), names)


@lru_cache(maxsize=1)
def _bank(folders: tuple[str, ...]) -> Bank:
    # One bank a worker process: its facts and templates are read once, not once a problem.
    return Bank.open(folders)


def _verify_one(folders: tuple[str, ...], seeds: int, name: str) -> Verified:
    return verify_problem(_bank(folders), name, seeds)


def verify_problem(
    bank: Bank, name: str, seeds: int = 50, code_seeds: int = CODE_SEEDS
) -> Verified:
    """What the gate finds for one problem over *seeds* variants; code is run for fewer."""
    try:
        return _verified(bank, name, seeds, code_seeds)
    except GraderError as wrong:
        return _broken(name, wrong)


def _broken(name: str, wrong: GraderError) -> Verified:
    """The result for what can't be loaded, drawn from, or listed."""
    errors = wrong.errors if isinstance(wrong, SpecErrors) else (wrong,)
    return Verified(problem=name, seeds=0, findings=(), seconds=0.0, errors=tuple(map(str, errors)))


def _verified(bank: Bank, name: str, seeds: int, code_seeds: int) -> Verified:
    started = time.perf_counter()
    problem, source = bank.located(name)
    findings: list[Finding] = []
    has_answers = any(kinds.find(p.kind).by_solve for p in problem.parts)
    solve = _solve(bank, name, problem, findings) if has_answers else None
    cases = [
        Case(problem, source, bank.facts, number, solve, bank.templates, code_seeds)
        for number in range(seeds)
    ]
    variants: list[Variant] = []
    checked = 0
    for case in cases:
        checked += 1
        undrawable = list(drawable(case))
        findings += undrawable
        if undrawable:
            continue
        variants.append(case.variant)
        for check in CHECKS:
            findings += check(case)
        if any("TimeoutError" in f.what for f in findings):
            break  # a solution that never returns would take its time for every seed
    distinct = len({tuple(map(_plain, v.parameters.values())) for v in variants})
    draws = sum(v.draws for v in variants)
    hit_rate = len(variants) / draws if draws else 1 / MAX_DRAWS
    if variants:
        findings += _across(cases[0], variants, distinct, hit_rate)
    return Verified(
        problem=problem.id,
        seeds=seeds,
        findings=grouped(findings, checked, code_seeds),
        seconds=time.perf_counter() - started,
        distinct=distinct,
        hit_rate=hit_rate,
        unrun=tuple(unrun(problem)),
    )


def _solve(bank: Bank, name: str, problem: Problem, findings: list[Finding]) -> Solve | None:
    path = bank.solution(name)
    if path is None:
        findings.append(
            Finding(
                problem=problem.id,
                check="second-computation",
                where=Location(str(bank.path(name))),
                what="there is no solution file, so nothing confirms the keys",
                fix=f"write solutions/{problem.family}/{problem.id}.py with solve(given)",
            )
        )
        return None
    try:
        return load_solve(path)
    except SetupError as error:
        findings.append(
            Finding(
                problem=problem.id,
                check="second-computation",
                where=error.where if isinstance(error.where, Location) else Location(str(path)),
                what=error.what,
                fix=error.fix or "mend the file",
            )
        )
        return None


def _plain(value: object) -> object:
    return value.magnitude if isinstance(value, Quantity) else value


def _across(
    case: Case, variants: Sequence[Variant], distinct: int, hit_rate: float
) -> Iterator[Finding]:
    """What only many variants together can show."""
    fewest = min(FEWEST_VARIANTS, len(variants))
    if case.problem.parameters and distinct < fewest:
        yield _general(
            case,
            "variants-differ",
            ("parameters",),
            f"{len(variants)} seeds gave {distinct} different sets of numbers",
            f"give the parameters more values: at least {FEWEST_VARIANTS} sets",
        )
    numbers = [tuple(_key_numbers(v)) for v in variants]
    if len(variants) >= FEWEST_VARIANTS and numbers[0] and len(set(numbers)) == 1:
        yield _general(
            case,
            "variants-differ",
            ("parts",),
            "every student has the same answers: the parameters change none of the numbers asked",
            "let at least one answer depend on what is drawn",
        )
    if not case.problem.parameters and len(variants) > 1 and not case.problem.solution:
        yield _general(
            case,
            "variants-differ",
            (),
            "the problem has no parameters, so all students have the same numbers",
            "draw at least one number",
        )
    if hit_rate < LOWEST_HIT_RATE:
        yield _general(
            case,
            "hit-rate",
            ("where",),
            f"only {hit_rate:.1%} of the draws satisfy 'where'",
            "choose parameters that fit together more often, or use rows",
        )


def _key_numbers(variant: Variant) -> Iterator[float]:
    for key in variant.keys.values():
        yield from (cell.value for cell in cells_of(key))


def _general(case: Case, check: str, at: tuple[str, ...], what: str, fix: str) -> Finding:
    return Finding(
        problem=case.problem.id, check=check, where=case.source.at(at), what=what, fix=fix
    )
