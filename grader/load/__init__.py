"""YAML, CSV and JSON that people keep, to the records of the model."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.load.bank import Bank
    from grader.load.exam import load_exam
    from grader.load.heads import Head, read_heads
    from grader.load.index import BankIndex, own_bank
    from grader.load.names import parameter_names
    from grader.load.numbers import load_numbers
    from grader.load.problem import digest, load_problem
    from grader.load.release import extended, load_release, new_release, release_bytes
    from grader.load.roster import id_problem, load_roster
    from grader.load.schema import json_schema

__all__ = [
    "Bank",
    "BankIndex",
    "Head",
    "digest",
    "extended",
    "id_problem",
    "json_schema",
    "load_exam",
    "load_numbers",
    "load_problem",
    "load_release",
    "load_roster",
    "new_release",
    "own_bank",
    "parameter_names",
    "read_heads",
    "release_bytes",
]

# A list of the bank, or a completion in the shell, needs no validator and no kind of answer.
_MODULES = {
    "bank": ("Bank",),
    "exam": ("load_exam",),
    "heads": ("Head", "read_heads"),
    "index": ("BankIndex", "own_bank"),
    "names": ("parameter_names",),
    "numbers": ("load_numbers",),
    "problem": ("digest", "load_problem"),
    "release": ("extended", "load_release", "new_release", "release_bytes"),
    "roster": ("id_problem", "load_roster"),
    "schema": ("json_schema",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
