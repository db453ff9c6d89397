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
        wrappers = (code for rule in self._rules for code in _list_wrapper_codes(rule))
        self._wrappers = {id(code): code for code in wrappers}
        self._calls: Counter[Any] = Counter()
        self._libraries = _list_library_folders()
        self._origins: dict[str, tuple[bool, bool]] = {}
        """By file name, whether its code is the student's, and whether a library generated it."""
        self._noted: set[str] = set()
        """The full names that are compared with the rules."""
        self._events_left = MOST_EVENTS

    def __enter__(self) -> Self:
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _on_event(self, frame: Any, event: str, called: Any) -> None:
        """Handles an event in *frame*: a call of its own code, or of *called*, written in C."""
        self._events_left -= 1
        if self._events_left < 0:
            sys.setprofile(None)
        elif event == "call":
            code = frame.f_code
            if self._find_origin(code)[0]:
                self._calls[code] += 1
                if self._calls[code] == LOOPED and self._counts_loops and LOOPS not in self.used:
                    self.used.append(LOOPS)
            elif self._is_called_by_own(frame.f_back) and code.co_name != "<module>":
                self._note_call(f"{frame.f_globals.get('__name__')}.{code.co_qualname}")
        elif event == "c_call" and self._is_called_by_own(frame):
            self._note_call(_full_name_of(called))

    def _is_called_by_own(self, frame: Any) -> bool:
        """Returns whether *frame* is the student's, or wrapping or generated code that they
        called."""
        while frame is not None:
            is_own, is_generated = self._find_origin(frame.f_code)
            if not is_generated and id(frame.f_code) not in self._wrappers:
                return is_own
            frame = frame.f_back
        return False

    def _find_origin(self, code: Any) -> tuple[bool, bool]:
        """Returns whether *code* is the student's, and whether a library generated it."""
        origin = self._origins.get(code.co_filename)
        if origin is None:
            origin = _is_own(code, self._libraries), _is_generated(code)
            self._origins[code.co_filename] = origin
        return origin

    def _note_call(self, full: str) -> None:
        """Adds to `used` the rules that a call of the function with this full name breaks."""
        if full in self._noted:
            return
        self._noted.add(full)
        for end in _MAKING:
            full = full.removesuffix(end)
        self.used += [r for r in find_broken_rules(full, self._rules) if r not in self.used]


def find_broken_rules(full: str, rules: list[str]) -> list[str]:
    """Returns the *rules* that forbid the object with this full name."""
    return [rule for rule in rules if is_covered(full, rule)]


def _list_library_folders() -> tuple[str, ...]:
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
    libraries = _list_library_folders()
    waiting: list[Any] = [start]
    examined: dict[int, Any] = {}
    while waiting and len(examined) < MOST_REACHED:
        obj = waiting.pop()
        if id(obj) in examined:
            continue
        examined[id(obj)] = obj  # kept alive, so that no other object gets its id
        if _has_safe_name(obj):
            reached += [r for r in find_broken_rules(_full_name_of(obj), rules) if r not in reached]
        waiting += _list_referents(obj, libraries)
    return reached


def _has_safe_name(obj: Any) -> bool:
    """Returns whether the full name of *obj* can be read without running the student's code: it can
    for modules and callables whose type is not the student's."""
    kind = type(obj)
    return not _is_of_student(kind) and (issubclass(kind, types.ModuleType) or callable(obj))


def _list_referents(obj: Any, libraries: tuple[str, ...]) -> list[Any]:
    """Returns the objects to which *obj* refers; none for the objects of libraries."""
    kind = type(obj)
    if kind is types.FunctionType:
        if not _is_own(obj.__code__, libraries):
            return []
        cells = dict(zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True))
        inside = {name: cell.cell_contents for name, cell in cells.items() if _has_value(cell)}
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


def _has_value(cell: Any) -> bool:
    """Returns whether a cell of a closure has a value, so that reading it does not raise."""
    try:
        cell.cell_contents  # noqa: B018 - raises if the cell is empty
    except ValueError:
        return False
    return True


def _get_module_attribute(module: Any, name: str) -> Any:
    """Returns the attribute *name* of *module*; None if it has none or *module* is not a module."""
    if not issubclass(type(module), types.ModuleType):
        return None
    space: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return space.get(name)


def _iter_named_objects(code: Any, space: Any, inside: Any) -> Iterator[tuple[str, Any]]:
    """Yields each name that *code* reads, also in functions inside it, with the object that it
    refers to; *inside* holds the variables of enclosing functions."""
    names = {**vars(sys.modules["builtins"]), **space, **inside}
    current: Any = None
    for step in dis.get_instructions(code):
        opcode, name = step.opname, step.argval
        if opcode in ("CACHE", "PUSH_NULL", "COPY_FREE_VARS"):
            continue
        if opcode.startswith("STORE_"):
            if isinstance(name, str):
                names[name] = current
            current = None
        elif opcode == "IMPORT_NAME":
            current = sys.modules.get(name)
        elif opcode in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            current = _get_module_attribute(current, name)
        else:
            current = names.get(name) if opcode.startswith("LOAD_") and type(name) is str else None
        if current is not None:
            yield str(name), current
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _iter_named_objects(inner, space, names)


def is_covered(full: str, rule: str) -> bool:
    """Returns whether *rule* names the object *full*, something that contains it, or one with the
    same last name in the same package."""
    full = full.removeprefix("builtins.")
    if full == rule or full.startswith(f"{rule}."):
        return True
    same = full.partition(".")[0] == rule.partition(".")[0]
    return same and "." in rule and full.rpartition(".")[2] == rule.rpartition(".")[2]


def _full_name_of(function: Any) -> str:
    """Returns the full name of a callable or a module, such as `numpy.ndarray.sort`."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type(sys)):
        where = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        where = f"{kind.__module__}.{kind.__qualname__}"
    return f"{where}.{getattr(function, '__name__', '')}"


def _list_wrapper_codes(rule: str) -> list[Any]:
    """Returns the code of up to ten decorators around the function that *rule* names."""
    package, *names = rule.split(".")
    function: Any = sys.modules.get(package)
    for name in names:
        function = getattr(function, name, None)
    codes: list[Any] = []
    while hasattr(function, "__wrapped__") and len(codes) < 10:
        codes.append(getattr(function, "__code__", None))
        function = function.__wrapped__
    return codes


def call_watched(
    call: Callable[..., Any], forbidden: list[str], reply: dict[str, Any], /, **named: Any
) -> Any:
    """Returns the result of *call*. Adds to *reply* the forbidden functions that *call* refers to,
    as "reached", and those that it called, as "used"."""
    with contextlib.suppress(Exception):  # the student's objects may be anything
        reached = find_reached_rules(call, [rule for rule in forbidden if rule != LOOPS])
        if reached:
            reply["reached"] = reached
    with Watch(forbidden) as watch:
        result = call(**named)
    if watch.used:
        reply["used"] = watch.used
    return result
