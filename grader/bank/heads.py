"""Reads what `grader list` shows of each problem, without loading the problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from grader.bank.index import BankIndex
from grader.bank.yaml12 import read_yaml
from grader.errors import SpecError
from grader.model import Level, Problem
from grader.model.records import field_values

_KEYS = {f.name for f in dataclasses.fields(Problem)} - {"solution"}
_LEVELS = get_args(Level)
_NAMES = """
choice code explanation integer matching measurement multi_choice numeric ordering plan
prediction short_text table true_false
"""
_KINDS = frozenset(_NAMES.split())
"""The built-in kinds; other kinds are plug-ins or errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPart:
    """The listed fields of a part."""

    id: str
    kind: str
    points: float = 1.0
    minutes: float = 0.0
    """The part's own minutes, or its share of the problem's."""
    pool: str = ""
    """The pool of the problem's parts that it belongs to."""
    uses: tuple[str, ...] = ()
    """The earlier parts whose answers it uses."""
    mean: float | None = None
    """The mean share of the points in earlier terms; None if unknown."""


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
    concepts: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    parts: tuple[HeadPart, ...]

    def parts_on(self, concept: str) -> tuple[str, ...]:
        """Returns the ids of the parts that examine *concept*: all, if the problem names none."""
        if isinstance(self.concepts, Mapping):
            return self.concepts[concept]
        return tuple(part.id for part in self.parts)

    def examined_by(self, parts: Iterable[str]) -> frozenset[str]:
        """Returns the concepts that at least one of *parts* examines."""
        asked = set(parts)
        return frozenset(c for c in self.concepts if not asked.isdisjoint(self.parts_on(c)))


def split_minutes(whole: float, parts: Sequence[tuple[float, float | None]]) -> tuple[float, ...]:
    """Returns the minutes of each part of a problem that takes *whole* minutes.

    *parts* are the points and the stated minutes, if any, of each part. The parts without stated
    minutes share the rest in proportion to their points.

    >>> split_minutes(20, [(4, 14), (1, None), (2, None)])
    (14, 2.0, 4.0)
    """
    rest = whole - sum(minutes for _, minutes in parts if minutes is not None)
    total = sum(points for points, minutes in parts if minutes is None)
    return tuple(rest * points / total if minutes is None else minutes for points, minutes in parts)


def heads_of(
    bank: BankIndex, names: Iterable[str], load: Callable[[str], Problem]
) -> tuple[tuple[Head, ...], tuple[SpecError, ...]]:
    """Returns the heads of the problems in *names*, and the errors in files whose head can't be
    read. *load* loads the problem of an id if its YAML is unusual.

    Expressions, texts, and solutions are not checked, which would take twenty times as long;
    `grader verify` does that.
    """
    heads: list[Head] = []
    errors: list[SpecError] = []
    for name in names:
        try:
            path = bank.path(name)
            heads.append(_read_plain_head(path, bank.families) or _head_of_loaded(load(name)))
        except SpecError as wrong:
            errors += wrong.errors
    return tuple(heads), tuple(errors)


def _head_of_loaded(problem: Problem) -> Head:
    parts = [field_values(part) for part in problem.parts]
    return _head_of({**field_values(problem), "parts": parts})


def _read_plain_head(path: Path, families: Collection[str]) -> Head | None:
    """Returns the head of the problem at *path*; None if the full loader must read it."""
    data = read_yaml(path).data
    if not (isinstance(data, dict) and data.keys() <= _KEYS and _is_text(data.get("prompt"))):
        return None
    parts = data.get("parts")
    if not (parts and isinstance(parts, tuple) and all(_is_plain_part(p) for p in parts)):
        return None
    return _head_of(data) if _is_plain(data, path, families, {p["id"] for p in parts}) else None


def _head_of(problem: Mapping[str, Any]) -> Head:
    """Returns the head of a problem, given its fields and those of its parts, as far as they are
    stated."""
    listed = {f.name: problem[f.name] for f in dataclasses.fields(Head) if f.name in problem}
    minutes = float(problem.get("minutes", 5))
    stated = [(float(p.get("points", 1)), p.get("minutes")) for p in problem["parts"]]
    shares = split_minutes(minutes, stated)
    parts = tuple(
        HeadPart(
            id=part["id"],
            kind=part["kind"],
            points=points,
            minutes=share,
            pool=part.get("pool", ""),
            uses=part.get("uses", ()),
        )
        for part, (points, _), share in zip(problem["parts"], stated, shares, strict=True)
    )
    points = sum(points for points, _ in stated)
    return Head(**{**listed, "minutes": minutes, "points": points, "parts": parts})


def _is_plain(
    fields: Mapping[str, Any], path: Path, families: Collection[str], parts: AbstractSet[str]
) -> bool:
    """Returns whether the *fields* of a problem, apart from its parts, are surely valid."""
    concepts = fields.get("concepts", ())
    return (
        fields.get("id") == path.stem
        and _is_text(fields.get("title"))
        and fields.get("family") == path.parent.name
        and fields["family"] in families
        and fields.get("level", "apply") in _LEVELS
        and _is_positive(fields.get("minutes", 5.0))
        and _are_texts(fields.get("topics", ()))
        and (_are_texts(concepts) or _maps_concepts_to_parts(concepts, parts))
    )


def _maps_concepts_to_parts(concepts: object, parts: AbstractSet[str]) -> bool:
    """Returns whether *concepts* maps each concept to a nonempty list of names in *parts*."""
    return isinstance(concepts, dict) and all(
        _is_text(name) and part_names and _are_texts(part_names) and parts >= set(part_names)
        for name, part_names in concepts.items()
    )


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _is_plain_part(part: object) -> bool:
    """Returns whether *part* has a built-in kind, and its listed fields are surely valid."""
    return (
        isinstance(part, dict)
        and all(_is_text(part.get(name)) for name in ("id", "kind", "ask"))
        and _is_positive(part.get("points", 1.0))
        and _is_positive(part.get("minutes", 1.0))
        and _is_text(part.get("pool", ""))
        and part["kind"] in _KINDS
        and _are_texts(part.get("uses", ()))
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e6
