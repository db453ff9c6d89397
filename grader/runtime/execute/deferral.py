"""Defers parts that this machine can't run, and keeps the rest of the notebook unaffected.

If the machine lacks a GPU or a package that a part needs, the part is deferred. The rest of the
notebook must not suffer: an `import` of the missing package at the top of a cell would stop the
cell, and the names it defines would be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.model import Answer, CallPlan, CellRun, packages
from grader.model.evidence import WAITING_TAG


def missing_requirement(call_plan: CallPlan, device: str) -> str:
    """Returns the device or package that *call_plan* has to wait for; empty if it can run here."""
    if call_plan.device not in ("cpu", device):
        return call_plan.device
    return next(iter(packages.missing_packages(call_plan.needs)), "")


def stand_in_code(call_plans: Iterable[CallPlan]) -> Sequence[str]:
    """Returns the code to run first so that imports of missing packages succeed; may be empty."""
    names = dict.fromkeys(
        name for call_plan in call_plans for name in packages.missing_packages(call_plan.needs)
    )
    modules = sorted(packages.PACKAGES[name].module for name in names)
    return [_STANDS_IN.format(modules=modules)] if modules else []


def defer_missing(answers: Mapping[str, Answer], cells: Iterable[CellRun]) -> dict[str, Answer]:
    """Returns *answers*; those without a value wait if a cell stopped for lack of a package.

    Any later cell may use what that cell would have set, so every missing answer waits.
    """
    missing = [match[1] for cell in cells if (match := _LACKED.match(cell.error or ""))]
    needed = (name for name, package in packages.PACKAGES.items() if package.module in missing)
    lacking = next(iter(packages.missing_packages(needed)), "")
    if not lacking:
        return dict(answers)
    return {name: _defer_answer(answer, lacking) for name, answer in answers.items()}


def find_lack_of_shared_memory(
    answers: Mapping[str, Answer], cells: Iterable[CellRun]
) -> dict[str, str]:
    """Returns why answers may be missing or wrong: the sandbox refused shared memory."""
    return dict.fromkeys(_find_affected(_REFUSED, answers, cells), _NO_SHARED_MEMORY)


def find_lack_of_modules(answers: Mapping[str, Answer], cells: Iterable[CellRun]) -> dict[str, str]:
    """Returns why answers may be missing or wrong: this machine lacks a module that the code
    imports, which the student's machine may have."""
    affected = _find_affected(_NO_MODULE, answers, cells)
    return {
        name: f"the code imports '{module}', which the grading machine lacks"
        for name, module in affected.items()
        if packages.is_lacking(module)
    }


def _find_affected(
    cause: re.Pattern[str], answers: Mapping[str, Answer], cells: Iterable[CellRun]
) -> dict[str, str]:
    """Returns the names of the answers that an error that *cause* matches may have cost, each with
    the last group of the match.

    If a cell stopped for that, any later cell may use what it would have set, so every missing
    answer is listed, and every verdict of a cell of tests.
    """
    stopped = next(filter(None, (cause.match(cell.error or "") for cell in cells)), None)
    affected: dict[str, str] = {}
    for name, answer in answers.items():
        match = next(filter(None, map(cause.match, _iter_call_errors(answer))), None)
        if answer.raw is None or "index" in answer.raw:
            match = match or stopped
        if match is not None:
            affected[name] = match[match.lastindex or 0]
    return affected


def _iter_call_errors(answer: Answer) -> Iterator[str]:
    """Yields the exceptions that calls of the answer's function raised."""
    calls = answer.raw.get("calls") if answer.raw is not None else None
    for call in calls if isinstance(calls, list) else ():
        if call.get("is") == "raised":
            yield f"{call.get('type')}: {call.get('what')}"


def defer_measurement(call_plan: CallPlan, answer: Answer, device: str) -> Answer:
    """Returns *answer*, marked as deferred if its measurement needs something missing here."""
    requirement = missing_requirement(call_plan, device)
    measures_alone = call_plan.benchmark is not None and call_plan.benchmark.alone
    if not requirement or answer.raw is None or not measures_alone:
        return answer
    raw = {"t": "measured", "value": answer.raw, "race": {}, "deferred": requirement}
    return Answer(name=answer.name, raw=raw)


_NO_SHARED_MEMORY = "the code needs shared memory, which the sandbox of this machine refuses"
# The messages of `worker.shared_memory`, of Python, and of torch.
_REFUSED = re.compile(
    r"SharedMemoryRefusedError: |PermissionError: .*'/(?:dev/shm/|psm_)"
    r"|RuntimeError: unable to open shared memory object"
)

# Not ours, which no notebook may import.
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(?!grader\b)([\w.]{1,80})'")

# The messages of Python and of the stand-in for a missing package.
_LACKED = re.compile(r"(?:ModuleNotFoundError: No module named '|MissingPackageError: )(\w+)")


def _defer_answer(answer: Answer, package: str) -> Answer:
    """Returns *answer* as waiting for *package* if it has no value or one of the stand-in."""
    is_missing = answer.raw is None or answer.raw.get("type") == _NOTHING
    if not is_missing:
        return answer
    return Answer(
        name=answer.name, raw={"t": WAITING_TAG, "deferred": package}, absent=answer.absent
    )


_NOTHING = "MissingPackageValue"
"""The type that stands in for attributes of a missing package."""

# This affects only imports by the notebook itself: torch looks for Triton too and must not find
# it. The stand-in has every attribute and works in decorators and annotations; computing raises.
_STANDS_IN = """\
def _stands_in(modules):
    import builtins
    import types

    usual = builtins.__import__

    class MissingPackageError(ImportError):
        pass

    class MissingPackageValue:
        def __init__(self, name):
            self.__name__ = name
            self.__all__ = ()  # of a module, for `from ... import *`

        def __mro_entries__(self, bases):
            return ()  # a class derived from it inherits nothing from the package

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return MissingPackageValue(self.__name__ + "." + name)

        def __call__(self, *arguments, **named):
            if arguments and isinstance(arguments[0], types.FunctionType):
                return arguments[0]  # a decorator, such as triton.jit
            if self.__name__.split(".")[-1] in ("jit", "autotune", "heuristics", "Config"):
                return self
            raise MissingPackageError(self.__name__ + " can't run: it is not installed here")

        def __getitem__(self, key):
            return self

    def import_module(name, globals=None, locals=None, fromlist=(), level=0):
        first = name.split(".")[0]
        if level or first not in modules or (globals or {{}}).get("__name__") != "__main__":
            return usual(name, globals, locals, fromlist, level)
        return MissingPackageValue(name if fromlist else first)

    builtins.__import__ = import_module


_stands_in({modules!r})
del _stands_in
"""
