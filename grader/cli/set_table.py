"""Prints what a set consists of, for `grader show SET`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from grader.cli.options import table
from grader.model.grouping import group_by_key
from grader.text.words import count_of, points

if TYPE_CHECKING:
    from grader.bank.blueprint import PartGroup
    from grader.release.composition import Composition, CompositionEntry, Range

_WIDTH = 100
_SAME = 0.005
"""Shares and numbers that differ by less than this are printed as one."""
_SHORT = 0.5
"""Minutes that a paper may lack without a note, since expected times are estimates."""


def set_text(found: Composition, topics: Mapping[str, str]) -> str:
    """Returns the composition as text. *topics* maps concepts to their topics."""
    blocks = [
        _title(found),
        _entries_table(found),
        _ranges_table(found),
        "\n".join(_conclusions(found)),
        "\n".join(_concept_lines(found, topics)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _title(found: Composition) -> str:
    exam = found.exam
    limit = "" if exam.minutes is None else f", {exam.minutes:g} minutes"
    return f"{exam.title} ({exam.id}){limit}"


def _entries_table(found: Composition) -> str:
    rows = [row for entry in found.entries for row in _entry_rows(entry)]
    header = ("question", "problem", "min", "points", "family", "level", "parts")
    return table(header, rows, right=(2, 3))


def _entry_rows(entry: CompositionEntry) -> Iterator[tuple[str, ...]]:
    last = entry.first + entry.count - 1
    number = f"{entry.first}" if last == entry.first else f"{entry.first}-{last}"
    if entry.count < len(entry.groups):
        number += f" ({entry.count} of {len(entry.groups)})"
    for index, group in enumerate(entry.groups):
        yield ("" if index else number, *_group_cells(group))


def _group_cells(group: PartGroup) -> tuple[str, ...]:
    parts = group.pool_draws or ", ".join(group.parts) or "all"
    minutes, worth = f"{group.minutes:.1f}", points(group.points)
    return group.problem, minutes, worth, group.family, group.level, parts


def _ranges_table(found: Composition) -> str:
    blueprint = found.exam.blueprint
    rows = [
        ("questions", *map(points, found.questions), points(blueprint and blueprint.questions)),
        ("parts", *map(points, found.parts), ""),
        ("minutes", *map(_minutes, found.minutes), points(blueprint and blueprint.minutes)),
        ("points", *map(points, found.points), points(blueprint and blueprint.points)),
    ]
    for shares, targets in (
        (found.families, blueprint.families if blueprint else {}),
        (found.levels, {str(k): v for k, v in blueprint.levels.items()} if blueprint else {}),
    ):
        for name, share in shares.items():
            target = f"{targets[name]:.0%}" if name in targets else ""
            rows.append((name, *(f"{value:.0%}" for value in share), target))
    header = ("of 200 papers", "lowest", "highest", "blueprint")
    columns = 4 if blueprint else 3
    return table(header[:columns], [row[:columns] for row in rows], right=(1, 2, 3)[: columns - 1])


def _minutes(value: float) -> str:
    return f"{value:.1f}"


def _conclusions(found: Composition) -> Iterator[str]:
    ranges = {
        "points": (found.points,),
        "shares of families": found.families.values(),
        "shares of levels": found.levels.values(),
    }
    same = [what for what, pairs in ranges.items() if all(map(_is_same, pairs))]
    low, high = found.minutes
    if _is_same(found.minutes):
        yield f"Every paper takes {low:.1f} minutes."
    else:
        excess = (high - low) / low
        yield f"The longest paper takes {excess:.1%} more minutes than the shortest."
    if same:
        yield f"All papers have the same {_join_words(same)}."
    limit = found.exam.minutes
    if limit is not None and high > limit + _SHORT:
        yield f"The set allows {limit:g} minutes, but a paper can take {high:.1f}."
    if found.on_one_concept > 1:
        yield f"Up to {found.on_one_concept} problems of a paper examine the same concept."
    elif found.concepts:
        yield "No two problems of a paper examine the same concept."


def _is_same(pair: Range) -> bool:
    return pair[1] - pair[0] < _SAME


def _join_words(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)}{',' * (len(first) > 1)} and {last}" if first else last


def _concept_lines(found: Composition, topics: Mapping[str, str]) -> Iterator[str]:
    if not found.concepts:
        return
    by_topic = group_by_key((topics.get(each, "unknown"), each) for each in found.concepts)
    listed = ", ".join(f"{topic} ({', '.join(ids)})" for topic, ids in sorted(by_topic.items()))
    yield f"{count_of(len(found.concepts), 'concept')}:"
    yield from textwrap.wrap(
        listed, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
