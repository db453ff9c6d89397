"""Reads attacks from files: what each tries, what it may earn, and what it submits."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import SetupError
from grader.registry import suggest

EARNS = ("nothing", "less", "honest", "refused")
"""No points; less than all; the points of its honest answers; or a stated refusal."""
FORMS = ("make", "place", "pack")
"""Names of the function with which an attack without cells creates its submission."""

_KNOWN = {"earns", "stopped by", "unsafe without", "needs", "says", "slow"}
_MARK = re.compile(r"^# %%[ \t]*([\w-]*)[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A hostile submission, with the marks it may earn and what stops it."""

    path: Path
    tries: str
    earns: str
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
        spec = importlib.util.spec_from_file_location(f"attack_{self.path.stem}", self.path)
        if spec is None or spec.loader is None:
            raise _attack_error(self.path, "it can't be loaded")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function: Callable[..., Any] = getattr(module, self.form)
        return function


def attacks_folder() -> Path:
    """Returns the folder of the package's attacks: inside it if installed, otherwise in `tests`."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_attacks"
    return installed if installed.is_dir() else package.parent / "tests" / "hostile" / "attacks"


def read_attacks(home: Path, wanted: Sequence[str] = ()) -> tuple[Attack, ...]:
    """Returns all attacks in the folders of *home*, or those with a class or name in *wanted*.

    Raises SetupError for an invalid file and for an unknown class.
    """
    attacks = tuple(read_attack(path) for path in sorted(home.glob("*/*.py")))
    if not attacks:
        raise SetupError("there are no attacks here", where=str(home))
    known = {a.group for a in attacks} | {a.name for a in attacks}
    for name in wanted:
        if name not in known:
            groups = ", ".join(sorted({a.group for a in attacks}))
            fix = suggest(name, known, f"classes: {groups}")
            raise SetupError(f"no class of attacks is called '{name}'", fix=fix)
    return tuple(a for a in attacks if not wanted or a.group in wanted or a.name in wanted)


def read_attack(path: Path) -> Attack:
    """Returns the attack in the file at *path*. Raises SetupError if the file is invalid."""
    text = path.read_text(encoding="utf-8")
    head, *rest = _MARK.split(text)
    tree = ast.parse(head)
    document = ast.get_docstring(tree)
    if not document:
        raise _attack_error(path, "it does not say what it tries")
    tries, _, fields = document.partition("\n\n")
    header = dict(_header_fields(path, fields))
    cells = list(zip(rest[::2], rest[1::2], strict=True))
    return Attack(
        path=path,
        tries=" ".join(tries.split()),
        earns=_require_known(path, header.get("earns"), EARNS),
        stopped_by=_split_names(header.get("stopped by")),
        unsafe_without=_split_names(header.get("unsafe without")),
        needs=_split_names(header.get("needs")),
        says=header.get("says", ""),
        slow=header.get("slow") == "yes",
        before=tuple(source.strip("\n") for where, source in cells if where == "before"),
        after=tuple(source.strip("\n") for where, source in cells if where != "before"),
        form="cells" if cells else _submission_form(path, tree),
    )


def read_cells(path: Path) -> dict[str, str]:
    """Returns the cells of the file at *path* by the names that follow their marks."""
    _, *rest = _MARK.split(path.read_text(encoding="utf-8"))
    return {name: source.strip() + "\n" for name, source in zip(rest[::2], rest[1::2], strict=True)}


def _submission_form(path: Path, tree: ast.Module) -> str:
    """Returns the name of the only function in FORMS. Raises SetupError unless there is one."""
    functions = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in FORMS]
    if len(functions) != 1:
        raise _attack_error(path, f"it has neither cells nor one function of {', '.join(FORMS)}")
    return functions[0]


def _header_fields(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """Yields the name and value of each field; raises SetupError for an unknown one."""
    for line in filter(None, text.splitlines()):
        name, colon, value = line.partition(":")
        if not colon or name not in _KNOWN:
            raise _attack_error(path, f"'{line[:60]}' is none of {', '.join(sorted(_KNOWN))}")
        yield name, value.strip()


def _split_names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _require_known(path: Path, value: str | None, known: Sequence[str]) -> str:
    if value is None or value not in known:
        raise _attack_error(path, f"'earns' is none of {', '.join(known)}")
    return value


def _attack_error(path: Path, what: str) -> SetupError:
    return SetupError(f"this attack can't be used: {what}", where=str(path))
