"""Monitors which forbidden functions a student's code calls while it runs.

Like `grader.wire.calls`, the text of this module is sent to the kernel, so it imports nothing from
`grader`, and shares a namespace with a driver. Students' code runs in the same process and can stop
the monitoring, so a detected call proves more than none.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import sys
import sysconfig
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

LOOPED = 12
"""The number of calls of one of the student's functions, within one call, that counts as a loop."""
MOST_REACHED = 5_000
"""Limit on the objects examined for one call."""
MOST_EVENTS = 200_000
"""Limit on the calls and returns examined, so that monitoring takes only a moment."""
LOOPS = "loops"
_OWN = ("<ipython-input-", "<solution ")
"""How the file names of students' code begin, and of what an author wrote in place of it."""
_OURS = ("<driver>", "<grader_")
_FROZEN = "<frozen "
_HOLDING = frozenset(
    ["builtins", "functools", "itertools", "operator", "types", "collections", "numpy"]
)
"""Modules of classes whose objects may hold any function, such as `functools.partial`."""
_MAKING = (".__init__", ".__new__", ".__call__")


class Watch:
    """Records calls of *forbidden* functions by a student's code in a `with` statement."""

    def __init__(self, forbidden: list[str]):
        self.used: list[str] = []
        """The broken rules, without duplicates."""
        self._rules = [rule for rule in forbidden if rule != LOOPS]
        self._counts_loops = LOOPS in forbidden
        wrappers = (code for rule in self._rules for code in _codes_of_wrappers(rule))
        self._wrappers = {id(code): code for code in wrappers}
        self._calls: Counter[Any] = Counter()
        self._libraries = _libraries()
        self._origins: dict[str, tuple[bool, bool]] = {}
        """By file name, whether its code is the student's, and whether a library generated it."""
        self._noted: set[str] = set()
        """The full names that are compared with the rules."""
        self._left = MOST_EVENTS

    def __enter__(self) -> Self:
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _on_event(self, frame: Any, event: str, called: Any) -> None:
        self._left -= 1
        if self._left < 0:
            sys.setprofile(None)
        elif event == "call":
            code = frame.f_code
            if self._origin_of(code)[0]:
                self._calls[code] += 1
                if self._calls[code] == LOOPED and self._counts_loops and LOOPS not in self.used:
                    self.used.append(LOOPS)
            elif self._is_called_by_own(frame.f_back) and code.co_name != "<module>":
                self._note_call(f"{frame.f_globals.get('__name__')}.{code.co_qualname}")
        elif event == "c_call" and self._is_called_by_own(frame):
            self._note_call(_full_name_of(called))

    def _is_called_by_own(self, frame: Any) -> bool:
        """Returns whether the frame is the student's code, or wrapping or generated code that it
        called."""
        while frame is not None:
            is_own, is_generated = self._origin_of(frame.f_code)
            if not is_generated and id(frame.f_code) not in self._wrappers:
                return is_own
            frame = frame.f_back
        return False

    def _origin_of(self, code: Any) -> tuple[bool, bool]:
        found = self._origins.get(code.co_filename)
        if found is None:
            found = _is_own(code, self._libraries), _is_generated(code)
            self._origins[code.co_filename] = found
        return found

    def _note_call(self, full: str) -> None:
        if full in self._noted:
            return
        self._noted.add(full)
        for end in _MAKING:
            full = full.removesuffix(end)
        self.used += [r for r in broken_by(full, self._rules) if r not in self.used]


def broken_by(full: str, rules: list[str]) -> list[str]:
    """Returns the *rules* that forbid the object with this full name."""
    return [rule for rule in rules if is_covered(full, rule)]


def _libraries() -> tuple[str, ...]:
    """Returns the folders of installed modules, which a notebook can't write to."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in ("numpy", "torch")]
    files.append(globals().get("__file__"))  # of ours, where this was imported
    folders = {str(Path(file).parent.parent) for file in files if file}
    paths = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, *folders}
    return tuple(f"{path.rstrip('/')}/" for path in paths)


def _is_generated(code: Any) -> bool:
    """Returns whether a library generated this code at run time, as dataclasses do."""
    name: str = code.co_filename
    return name.startswith("<") and not name.startswith((*_OWN, *_OURS, _FROZEN))


def _is_own(code: Any, libraries: tuple[str, ...]) -> bool:
    """Returns whether the code is from a cell, or from a file outside the installed libraries."""
    name: str = code.co_filename
    if name.startswith("<"):
        return name.startswith(_OWN)
    return not name.startswith((*libraries, *_OURS))


def find_reached_rules(start: Any, rules: list[str]) -> list[str]:
    """Returns the *rules* that forbid an object to which the code of *start* refers.

    Resolves the names in the code of the student's functions, and follows partial functions,
    containers, and the student's classes and objects. Runs none of the student's code.
    """
    reached: list[str] = []
    libraries = _libraries()
    waiting: list[Any] = [start]
    seen: dict[int, Any] = {}
    while waiting and len(seen) < MOST_REACHED:
        obj = waiting.pop()
        if id(obj) in seen:
            continue
        seen[id(obj)] = obj  # kept alive, so that no other object gets its id
        if _has_safe_name(obj):
            reached += [r for r in broken_by(_full_name_of(obj), rules) if r not in reached]
        waiting += _referents_of(obj, libraries)
    return reached


def _has_safe_name(obj: Any) -> bool:
    """Returns whether the full name of *obj* can be read without running the student's code: it can
    for modules and callables whose type is not the student's."""
    kind = type(obj)
    return not _is_of_student(kind) and (issubclass(kind, types.ModuleType) or callable(obj))


def _referents_of(obj: Any, libraries: tuple[str, ...]) -> list[Any]:
    """Returns the objects to which *obj* refers; none for the objects of libraries."""
    kind = type(obj)
    if kind is types.FunctionType:
        if not _is_own(obj.__code__, libraries):
            return []
        cells = dict(zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True))
        inside = {name: cell.cell_contents for name, cell in cells.items() if _is_filled(cell)}
        named = [value for _, value in _iter_named_objects(obj.__code__, obj.__globals__, inside)]
        return [*named, *inside.values(), obj.__defaults__, obj.__kwdefaults__, obj.__dict__]
    if issubclass(kind, type):
        return gc.get_referents(obj) if _is_of_student(obj) else []
    if _is_of_student(kind) or kind.__module__ in _HOLDING:
        # Not a module: the one of the notebook has all of its names.
        return [] if issubclass(kind, types.ModuleType) else gc.get_referents(obj)
    return []


def _is_of_student(kind: type) -> bool:
    return bool(type.__dict__["__module__"].__get__(kind) == "__main__")


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - raises if the cell is empty
    except ValueError:
        return False
    return True


def _module_attribute(module: Any, name: str) -> Any:
    """Returns the attribute *name* of a module; None if *module* is not one."""
    if not issubclass(type(module), types.ModuleType):
        return None
    space: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return space.get(name)


def _iter_named_objects(code: Any, space: Any, inside: Any) -> Iterator[tuple[str, Any]]:
    """Yields the names in *code*, with the objects that they and attributes of modules refer to."""
    names = {**vars(sys.modules["builtins"]), **space, **inside}
    here: Any = None
    for step in dis.get_instructions(code):
        what, name = step.opname, step.argval
        if what in ("CACHE", "PUSH_NULL", "COPY_FREE_VARS"):
            continue
        if what.startswith("STORE_"):
            if isinstance(name, str):
                names[name] = here
            here = None
        elif what == "IMPORT_NAME":
            here = sys.modules.get(name)
        elif what in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            here = _module_attribute(here, name)
        else:
            here = names.get(name) if what.startswith("LOAD_") and type(name) is str else None
        if here is not None:
            yield str(name), here
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _iter_named_objects(inner, space, names)


def is_covered(full: str, rule: str) -> bool:
    """Returns whether *full* is what the rule names, is inside it, or has its name in the same
    package."""
    full = full.removeprefix("builtins.")
    if full == rule or full.startswith(f"{rule}."):
        return True
    same = full.partition(".")[0] == rule.partition(".")[0]
    return same and "." in rule and full.rpartition(".")[2] == rule.rpartition(".")[2]


def _full_name_of(function: Any) -> str:
    """Returns the full name of a function written in C."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type(sys)):
        where = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        where = f"{kind.__module__}.{kind.__qualname__}"
    return f"{where}.{getattr(function, '__name__', '')}"


def _codes_of_wrappers(rule: str) -> list[Any]:
    """Returns the code of decorators around the function that *rule* names."""
    package, *names = rule.split(".")
    found: Any = sys.modules.get(package)
    for name in names:
        found = getattr(found, name, None)
    codes: list[Any] = []
    while hasattr(found, "__wrapped__") and len(codes) < 10:
        codes.append(getattr(found, "__code__", None))
        found = found.__wrapped__
    return codes


def call_watched(
    call: Callable[..., Any], forbidden: list[str], said: dict[str, Any], /, **named: Any
) -> Any:
    """Returns the result of *call*; adds the forbidden functions that it used or refers to to
    *said*."""
    with contextlib.suppress(Exception):  # the student's objects may be anything
        holds = find_reached_rules(call, [rule for rule in forbidden if rule != LOOPS])
        if holds:
            said["reached"] = holds
    with Watch(forbidden) as watch:
        result = call(**named)
    if watch.used:
        said["used"] = watch.used
    return result
