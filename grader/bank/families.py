"""Families of problems: the built-in ones, and those that a bank declares."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from grader.bank.yaml12 import Located, read_yaml
from grader.errors import SpecError
from grader.registry import nearest

NOT_FAMILIES = ("sets", "facts")
"""Folders next to those of the families."""
_FAMILY = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")


def declared_families(bank: Path) -> tuple[dict[str, str], tuple[SpecError, ...]]:
    """Returns the families that *bank* declares in problems/families.yaml, with titles, and the
    errors in that file."""
    path = bank / "problems" / "families.yaml"
    if not path.exists():
        return {}, ()
    try:
        source = read_yaml(path)
    except SpecError as error:
        return {}, (error,)
    if not isinstance(source.data, dict):
        return {}, (_families_error(source, ()),)
    errors = [
        _families_error(source, (name,))
        for name, title in source.data.items()
        if not (_FAMILY.match(name) and isinstance(title, str) and name not in NOT_FAMILIES)
    ]
    return ({}, tuple(errors)) if errors else (dict(source.data), ())


def _families_error(source: Located, at: tuple[str, ...]) -> SpecError:
    """Returns the error for the key at *at*, or for the whole file if *at* is empty."""
    return source.error(
        at,
        "expected names of families, each with a title",
        "write lines such as 'serving: Serving models', with lowercase letters, digits and "
        "hyphens in the name, and text in the title",
        key=True,
    )


def family_fix(name: str, known: Collection[str]) -> str:
    """Returns the fix for the unknown family *name*."""
    similar = nearest(name, known)
    if similar:
        return f"did you mean '{similar}'? Declare a new family in problems/families.yaml"
    listed = ", ".join(known)
    return f"declare it: add '{name}: Its Title' to problems/families.yaml; or use one of {listed}"
