"""Optional packages that some parts need."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Literal

Package = Literal["torch", "triton"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalPackage:
    """A Python package that some parts need and not every machine has."""

    title: str
    """Its name in messages."""
    module: str
    """The module to import."""
    tools: tuple[str, ...]
    """The tools that need it; a part that uses one of them must declare the package."""

    @property
    def is_installed(self) -> bool:
        """Whether this interpreter, and therefore its kernels, can find the module."""
        return PathFinder.find_spec(self.module) is not None


PACKAGES: Mapping[str, OptionalPackage] = {
    "torch": OptionalPackage(title="PyTorch", module="torch", tools=()),
    "triton": OptionalPackage(title="Triton", module="triton", tools=("triton_blocks",)),
}


def missing_packages(needed: Iterable[str]) -> tuple[str, ...]:
    """Returns the packages in *needed* that are not installed here, in the same order."""
    return tuple(name for name in needed if not PACKAGES[name].is_installed)


def is_lacking(module: str) -> bool:
    """Returns whether no package of this interpreter contains *module*."""
    first = module.partition(".")[0]
    return first not in sys.stdlib_module_names and PathFinder.find_spec(first) is None


def packages_for_modules(modules: Iterable[str]) -> tuple[str, ...]:
    """Returns the packages to install for those of *modules* that this interpreter can't find."""
    names = {package.module: name for name, package in PACKAGES.items()}
    return tuple(names.get(name, name) for name in modules if PathFinder.find_spec(name) is None)


def packages_for_tools(tools: Iterable[str]) -> tuple[str, ...]:
    """Returns the packages that any of *tools* needs."""
    asked = set(tools)
    return tuple(name for name, package in PACKAGES.items() if asked & set(package.tools))


def imported_packages(*sources: str, at_load: bool = False) -> tuple[str, ...]:
    """Returns the packages that *sources* import; with *at_load*, only imports at module level.

    Searches the text line by line, so that templates and files with syntax errors work too.

    >>> imported_packages("import math, torch", "def f():\\n    import triton")
    ('torch', 'triton')
    >>> imported_packages("def f():\\n    import triton", at_load=True)
    ()
    """
    indent = "" if at_load else r"[ \t]*"
    before = rf"^{indent}(?:from +|import +(?:[\w.]+(?: +as +\w+)? *, *)*)"
    return tuple(
        name
        for name, package in PACKAGES.items()
        if any(re.search(rf"{before}{re.escape(package.module)}\b", text, re.M) for text in sources)
    )


def missing_package_of(error: ImportError) -> str:
    """Returns the optional package whose absence caused *error*; empty if there is none."""
    first = (error.name or "").split(".")[0]
    return next(
        (
            n
            for n, package in PACKAGES.items()
            if package.module == first and not package.is_installed
        ),
        "",
    )


def waiting_note(name: str) -> str:
    """Returns the feedback for a mark that waits for a package."""
    return (
        f"This needs {PACKAGES[name].title}, which is not installed on the grading machine. It "
        "waits for a machine that has it; no points are deducted."
    )


def install_command(needed: Iterable[str]) -> str:
    """Returns the command that installs packages of those names."""
    return f"pip install {' '.join(needed)}"
