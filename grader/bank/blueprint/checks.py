"""Checks a blueprint before it is filled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from grader.bank.families import family_fix
from grader.bank.heads import Head
from grader.bank.yaml12 import Located
from grader.errors import SpecError
from grader.model import Blueprint
from grader.registry import suggest

_AT = "blueprint"
_ROUNDING = 0.005


def check_numbers(
    blueprint: Blueprint, limit: float | None, source: Located
) -> Iterator[SpecError]:
    """Yields errors in the numbers and shares of *blueprint*; *limit* is the set's, in minutes."""
    if limit is not None and limit < blueprint.minutes * (1 - blueprint.tolerance):
        what = f"papers of {blueprint.minutes:g} minutes don't fit in the {limit:g} of the set"
        yield source.error(
            (_AT, "minutes"), what, "change the minutes of the blueprint or those of the set"
        )
    for name in ("minutes", "points", "questions"):
        number = getattr(blueprint, name)
        if number is not None and number <= 0:
            what = f"'{name}' can't be {number:g}"
            yield source.error((_AT, name), what, "write a number greater than 0")
    shares: tuple[tuple[str, Mapping[str, float]], ...] = (
        ("families", blueprint.families),
        ("levels", {str(level): share for level, share in blueprint.levels.items()}),
    )
    for key, share_by_name in shares:
        total = sum(share_by_name.values())
        if share_by_name and abs(total - 1) > _ROUNDING:
            what = f"the shares of '{key}' add up to {total:.0%}"
            yield source.error((_AT, key), what, "change them so that they add up to 100%")
        for name, share in share_by_name.items():
            if share == 0:
                what, fix = f"'{name}' has no share", f"omit '{name}', so that it is not drawn"
                yield source.error((_AT, key, name), what, fix)


def check_names(
    blueprint: Blueprint,
    source: Located,
    heads: Iterable[Head],
    families: Collection[str],
    problem_ids: Collection[str],
) -> Iterator[SpecError]:
    """Yields errors for families, topics, and problems of *blueprint* that do not exist.

    *heads* are those of the problems that the blueprint may draw, *families* those of the banks,
    and *problem_ids* the ids of all problems.
    """
    for name in blueprint.families:
        if name not in families:
            what = f"there is no family '{name}'"
            yield source.error((_AT, "families", name), what, family_fix(name, families), key=True)
    topics = {topic for head in heads for topic in head.topics}
    for index, name in enumerate(blueprint.topics):
        if name not in topics:
            what = f"no problem has the topic '{name}'"
            fix = suggest(name, topics, "see `grader list --json`")
            yield source.error((_AT, "topics", index), what, fix)
    for index, name in enumerate(blueprint.exclude):
        if name not in problem_ids:
            what = f"there is no problem '{name}'"
            fix = suggest(name, problem_ids, "see `grader list`")
            yield source.error((_AT, "exclude", index), what, fix)
