"""The gate for a whole bank, in parallel."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from grader.bank.folders import Bank
from grader.errors import GraderError, SetupError, SpecError, SpecErrors
from grader.runtime import executors
from grader.verify.cache import ResultCache
from grader.verify.concepts import find_unknown_concepts
from grader.verify.one_problem import Verified, error_result, verify_problem
from grader.verify.references import run_references, start_kernels_early

_LOOK_SECONDS = 0.5
_MANY = 40
"""The number of problems from which some are expected to need torch in a kernel."""
_MOST_TOGETHER = 20
"""The largest number of problems whose right answers run in one kernel."""
_TORCH = ("numpy", "torch", "torch._dynamo")
"""Modules that the kernels of many problems import."""


def verify(
    folders: Sequence[str | Path],
    wanted: Sequence[str] = (),
    *,
    seeds: int = 50,
    jobs: int | None = None,
    kernel: bool = False,
    cached: bool = False,
    on_done: Callable[[str], None] = lambda _: None,
) -> tuple[Verified, ...]:
    """Checks the *wanted* problems, or all problems of the banks in *folders*, and returns their
    results.

    Each problem is checked with *seeds* variants, in up to *jobs* processes (by default one per
    CPU). With *kernel*, the right answers of sound problems also run in a kernel. With *cached*,
    problems that passed before and have not changed since are not checked again. Calls *on_done*
    with the id of each checked problem.

    A file that can't be read has a result with errors; sets, facts, concepts, and folders only if
    *wanted* is empty. Raises SetupError or SpecError if a wanted id does not exist or exists twice.
    """
    bank = Bank.open(folders)
    names = tuple(wanted) or bank.listed_problems
    for name in wanted:
        bank.path(name)  # an unknown name is an error before anything runs
    broken = [] if wanted else list(_broken_files(bank))
    cache = ResultCache(bank, seeds, kernel=kernel) if cached else None
    results: dict[str, Verified] = {}
    for name in names:
        fields = cache.find(name) if cache else None
        if fields is not None:
            results[name] = Verified(**fields, is_cached=True)
            on_done(name)
    remaining = sorted((n for n in names if n not in results), key=partial(_duration_order, bank))
    jobs = min(jobs or os.cpu_count() or 1, len(remaining) or 1)
    preload = _TORCH if len(remaining) >= _MANY else ()
    job = _Job(tuple(str(f) for f in folders), seeds, preload)
    if kernel and len(remaining) == 1:
        start_kernels_early(bank, remaining[0])
    try:
        for name, result in _iter_results(job, remaining, jobs, kernel=kernel):
            results[name] = result
            if cache and result.holds and not result.kernel:
                cache.add(name, result)
            on_done(name)
    finally:
        if cache and remaining:
            cache.save()
    with suppress(SpecError):  # of the inventory, which is among the broken files
        for finding in find_unknown_concepts(bank, tuple(results.values())):
            result = results[finding.problem]
            results[finding.problem] = replace(result, findings=(*result.findings, finding))
    return (*broken, *(results[name] for name in names))


def _duration_order(bank: Bank, name: str) -> tuple[int, bool, int]:
    """Returns the sort key of the problem *name*. Problems that take long go first, so that at the
    end, no worker is left with one of them alone."""
    try:
        solution = bank.solution(name)
        text = solution.read_text(encoding="utf-8", errors="replace") if solution else ""
    except (GraderError, OSError):
        text = ""
    code = len(re.findall(r"_(?:cases|right_|wrong_)", text))
    return -code, "import torch" not in text, -len(text)


def _broken_files(bank: Bank) -> Iterator[Verified]:
    """Yields a result for each folder, facts file, inventory, and set that can't be read; problems,
    which make up the rest of a bank, have separate results."""
    for error in (*bank.faults(), *bank.facts.errors):
        yield error_result(str(getattr(error.where, "file", error.where)), error)
    try:
        bank.concepts()
    except SpecError as error:
        yield error_result("problems/concepts.yaml", error)
    for name in bank.listed_sets:
        path = str(bank.set_paths[name])
        try:
            bank.exam(name)
        except SpecError as error:
            errors = error.errors
            # A broken problem of the set has a separate result.
            own = tuple(e for e in errors if getattr(e.where, "file", None) == path)
            if own:
                yield error_result(path, SpecErrors(own))


@dataclass(frozen=True, slots=True)
class _Job:
    """How a worker process checks problems."""

    folders: tuple[str, ...]
    seeds: int
    preload: tuple[str, ...]
    """Modules that one fork server imports for all problems."""

    def check(self, name: str) -> Verified:
        """Returns the gate's result for a problem, without a kernel."""
        return verify_problem(_open_bank(self.folders), name, self.seeds)

    def find_reference_failures(self, names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Returns a sentence for each failure of the right answers of each problem, by id.

        All problems run in one kernel first. If that run has any failure, each problem runs again
        alone, so that each failure belongs to one problem.
        """
        bank = _open_bank(self.folders)
        if not run_references(bank, names, self.preload):
            return dict.fromkeys(names, ())
        return {name: run_references(bank, [name], self.preload) for name in names}


def _iter_results(
    job: _Job, names: Sequence[str], jobs: int, *, kernel: bool
) -> Iterator[tuple[str, Verified]]:
    """Yields each result as soon as it is available."""
    _open_bank.cache_clear()  # files may have changed since an earlier call
    try:
        with executors.open(f"processes:{jobs}" if jobs > 1 else "inline") as pool:
            try:
                yield from _run_in_pool(pool, job, names, jobs, kernel=kernel)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                # Ctrl-C may have reached a worker in an author's code, where it was taken for an
                # error of that code.
                for worker in multiprocessing.active_children():
                    worker.terminate()
                raise
    except BrokenExecutor:
        raise SetupError(
            "a worker process ended early, probably for lack of memory",
            fix="verify with --jobs 1, or name fewer problems at a time",
        ) from None


def _run_in_pool(
    pool: Executor, job: _Job, names: Sequence[str], jobs: int, *, kernel: bool
) -> Iterator[tuple[str, Verified]]:
    """Yields each result. Several problems share one kernel, which runs after they are checked."""
    remaining = deque(names)
    checks: dict[Future[Verified], str] = {}
    runs: dict[Future[Mapping[str, tuple[str, ...]]], dict[str, Verified]] = {}
    waiting: dict[str, Verified] = {}
    while remaining or checks or runs or waiting:
        while remaining and len(checks) < 2 * jobs:
            name = remaining.popleft()
            checks[pool.submit(job.check, name)] = name
        size = _MOST_TOGETHER
        if not (remaining or checks):
            size = min(size, -(-len(waiting) // jobs))
        while waiting and len(waiting) >= size:
            chunk = dict(islice(waiting.items(), size))
            waiting = {name: checked for name, checked in waiting.items() if name not in chunk}
            runs[pool.submit(job.find_reference_failures, tuple(chunk))] = chunk
        going: list[Future[Any]] = [*checks, *runs]
        wait(going, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
        for check in [future for future in checks if future.done()]:
            name, result = checks.pop(check), check.result()
            if kernel and result.holds:
                waiting[name] = result
            else:
                yield name, result
        for run in [future for future in runs if future.done()]:
            chunk, wrong = runs.pop(run), run.result()
            yield from (
                (name, replace(checked, kernel=wrong[name])) for name, checked in chunk.items()
            )


@lru_cache(maxsize=1)
def _open_bank(folders: tuple[str, ...]) -> Bank:
    # One bank per worker process, so that its facts and templates are read only once.
    return Bank.open(folders)
