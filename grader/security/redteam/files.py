"""Reads attacks from files: what each tries, what it may earn, and what it submits."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import SetupError
from grader.registry import suggest

FORMS = ("make", "place", "pack")
"""Names of the function with which an attack without cells creates its submission."""

_MARK = re.compile(r"^# %%[ \t]*([\w-]*)[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A hostile submission, with the marks it may earn and what stops it."""

    path: Path
    tries: str
    earns: str
    """`nothing`, `less` than all points, the points of its `honest` answers, or `refused`."""
    stopped_by: tuple[str, ...] = ()
    """Sandbox layers without which it may succeed."""
    unsafe_without: tuple[str, ...] = ()
    """Sandbox layers without which it is not tried, because it would do harm."""
    needs: tuple[str, ...] = ()
    """Packages that it requires."""
    says: str = ""
    """Text that must appear in the evidence or the marks."""
    slow: bool = False
    before: tuple[str, ...] = ()
    """Cells that come before all others."""
    after: tuple[str, ...] = ()
    """Cells that come after all others."""
    form: str = "cells"
    """`cells`, or the name of the function that creates the submission: one of FORMS."""

    @property
    def group(self) -> str:
        """The class of the attack: its folder."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The attack's class and file name."""
        return f"{self.group}/{self.path.stem.replace('_', '-')}"

    def load_function(self) -> Callable[..., Any]:
        """Returns the function that creates the submission."""
        function: Callable[..., Any] = runpy.run_path(str(self.path))[self.form]
        return function


def attacks_folder() -> Path:
    """Returns the folder of the package's attacks: inside it if installed, otherwise in `tests`."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_attacks"
    return installed if installed.is_dir() else package.parent / "tests" / "hostile" / "attacks"


def read_attacks(home: Path, wanted: Sequence[str] = ()) -> tuple[Attack, ...]:
    """Returns all attacks in the folders of *home*, or those with a class or name in *wanted*.

    Raises SetupError for an unknown class.
    """
    attacks = tuple(read_attack(path) for path in sorted(home.glob("*/*.py")))
    known = {a.group for a in attacks} | {a.name for a in attacks}
    for name in wanted:
        if name not in known:
            groups = ", ".join(sorted({a.group for a in attacks}))
            fix = suggest(name, known, f"classes: {groups}")
            raise SetupError(f"no class of attacks is called '{name}'", fix=fix)
    return tuple(a for a in attacks if not wanted or a.group in wanted or a.name in wanted)


def read_attack(path: Path) -> Attack:
    """Returns the attack in the file at *path*."""
    head, *rest = _MARK.split(path.read_text(encoding="utf-8"))
    tree = ast.parse(head)
    tries, _, fields = (ast.get_docstring(tree) or "").partition("\n\n")
    pairs = (line.partition(":") for line in filter(None, fields.splitlines()))
    header: dict[str, Any] = {}
    for name, _, value in pairs:
        if name not in _FIELDS:
            known = f"the fields are: {', '.join(_FIELDS)}"
            raise SetupError(
                f"an attack has no field '{name}'",
                where=str(path),
                fix=suggest(name, _FIELDS, known),
            )
        header[name.replace(" ", "_")] = _FIELDS[name](value.strip())
    cells = list(zip(rest[::2], rest[1::2], strict=True))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if "earns" not in header or not (cells or {*FORMS}.intersection(functions)):
        raise SetupError(
            "the attack has no field 'earns', or neither cells nor a function that makes a file",
            where=str(path),
            fix="see tests/hostile/README.md",
        )
    return Attack(
        path=path,
        tries=" ".join(tries.split()),
        before=tuple(source.strip("\n") for where, source in cells if where == "before"),
        after=tuple(source.strip("\n") for where, source in cells if where != "before"),
        form="cells" if cells else next(name for name in functions if name in FORMS),
        **header,
    )


def read_cells(path: Path) -> dict[str, str]:
    """Returns the cells of the file at *path* by the names that follow their marks."""
    _, *rest = _MARK.split(path.read_text(encoding="utf-8"))
    return {name: source.strip() + "\n" for name, source in zip(rest[::2], rest[1::2], strict=True)}


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


_FIELDS: Mapping[str, Callable[[str], Any]] = {
    "earns": str,
    "says": str,
    "slow": lambda text: text == "yes",
    "stopped by": _split_names,
    "unsafe without": _split_names,
    "needs": _split_names,
}
"""The fields of a docstring, and how each is read."""
