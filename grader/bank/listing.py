"""Lists the problems of a bank without loading them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from grader.bank.heads import Head, heads_of
from grader.bank.index import BankIndex
from grader.errors import SpecError

if TYPE_CHECKING:
    from grader.bank.folders import Bank


def read_heads(
    bank: BankIndex, family: str | None = None
) -> tuple[tuple[Head, ...], tuple[SpecError, ...]]:
    """Returns the heads of all problems in the named banks, or of those in *family*, and the errors
    in files whose head can't be read, as `heads_of` does."""

    @cache
    def load_bank() -> Bank:
        from grader.bank.folders import Bank

        return Bank(bank.folders, bank.named_folders)

    names = [
        name for name in bank.listed_problems if family in (None, bank.paths[name].parent.name)
    ]
    heads, errors = heads_of(bank, names, lambda name: load_bank().problem(name))
    return heads, (*errors, *bank.faults())
