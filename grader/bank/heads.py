"""Reads what `grader list` shows of each problem, without loading the problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from grader.bank.index import BankIndex
from grader.bank.yaml12 import read_yaml
from grader.errors import SpecError, SpecErrors
from grader.model import Level, Problem

if TYPE_CHECKING:
    from grader.bank.folders import Bank

_KEYS = {f.name for f in dataclasses.fields(Problem)} - {"solution"}
_LEVELS = get_args(Level)
_NAMES = """
choice code explanation integer matching measurement multi_choice numeric ordering plan
prediction short_text table true_false
"""
_KINDS = frozenset(_NAMES.split())
"""The built-in kinds; other kinds are plug-ins or errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The listed fields of a problem."""

    id: str
    title: str
    family: str
    level: str = "apply"
    minutes: float = 5.0
    points: float
    """Total points of all parts."""
    topics: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...]
    """Id and kind of each part."""


def read_heads(
    bank: BankIndex, family: str | None = None
) -> tuple[tuple[Head, ...], tuple[SpecError, ...]]:
    """Returns the heads of all problems in the named banks, or of those in *family*, and the errors
    in files whose head can't be read.

    Expressions, texts and solutions are not checked, which would take twenty times as long;
    `grader verify` does that.
    """
    heads: list[Head] = []
    errors: list[SpecError] = []
    loader: list[Bank] = []
    for name in bank.listed:
        if family is not None and bank.paths[name].parent.name != family:
            continue
        try:
            path = bank.path(name)
            heads.append(_plain_head(path, bank.families) or _loaded_head(bank, name, loader))
        except SpecErrors as wrong:
            errors += wrong.errors
        except SpecError as wrong:
            errors.append(wrong)
    return tuple(heads), (*errors, *bank.faults())


def _loaded_head(bank: BankIndex, name: str, loader: list[Bank]) -> Head:
    """Returns the head of a problem with unusual YAML; raises SpecErrors if it is invalid."""
    from grader.bank.folders import Bank

    if not loader:
        loader.append(Bank(bank.folders, bank.named))
    problem = loader[0].problem(name)
    return Head(
        id=problem.id,
        title=problem.title,
        family=problem.family,
        level=problem.level,
        minutes=problem.minutes,
        points=sum(part.points for part in problem.parts),
        topics=problem.topics,
        concepts=problem.concepts,
        parts=tuple((part.id, part.kind) for part in problem.parts),
    )


def _plain_head(path: Path, families: Collection[str]) -> Head | None:
    """Returns the head of the problem at *path*; None if the full loader must read it."""
    data = read_yaml(path).data
    if not (isinstance(data, dict) and data.keys() <= _KEYS and _is_text(data.get("prompt"))):
        return None
    parts = data.get("parts")
    if not (parts and isinstance(parts, tuple) and all(_is_plain_part(p) for p in parts)):
        return None
    fields = {f.name: data[f.name] for f in dataclasses.fields(Head) if f.name in data}
    fields["parts"] = tuple((p["id"], p["kind"]) for p in parts)
    fields["points"] = sum(float(p.get("points", 1)) for p in parts)
    if not _is_plain(fields, path, families):
        return None
    return Head(**{**fields, "minutes": float(fields.get("minutes", 5))})


def _is_plain(fields: Mapping[str, Any], path: Path, families: Collection[str]) -> bool:
    return (
        fields.get("id") == path.stem
        and _is_text(fields.get("title"))
        and fields.get("family") == path.parent.name
        and fields["family"] in families
        and fields.get("level", "apply") in _LEVELS
        and _is_positive(fields.get("minutes", 5.0))
        and all(
            isinstance(fields.get(name, ()), tuple) and all(map(_is_text, fields.get(name, ())))
            for name in ("topics", "concepts")
        )
    )


def _is_plain_part(part: object) -> bool:
    return (
        isinstance(part, dict)
        and all(_is_text(part.get(name)) for name in ("id", "kind", "ask"))
        and _is_positive(part.get("points", 1.0))
        and part["kind"] in _KINDS
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e6
