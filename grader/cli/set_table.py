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


def set_text(composition: Composition, topics: Mapping[str, str]) -> str:
    """Returns the composition as text. *topics* maps concepts to their topics."""
    blocks = [
        _title_line(composition),
        _entries_table(composition),
        _ranges_table(composition),
        "\n".join(_describe_papers(composition)),
        "\n".join(_concept_lines(composition, topics)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _title_line(composition: Composition) -> str:
    exam = composition.exam
    limit = "" if exam.minutes is None else f", {exam.minutes:g} minutes"
    return f"{exam.title} ({exam.id}){limit}"


def _entries_table(composition: Composition) -> str:
    rows = [row for entry in composition.entries for row in _entry_rows(entry)]
    header = ("question", "problem", "min", "points", "family", "level", "parts")
    return table(header, rows, right=(2, 3))


def _entry_rows(entry: CompositionEntry) -> Iterator[tuple[str, ...]]:
    """Yields a row for each group of problems that the questions of *entry* may come from."""
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


def _ranges_table(composition: Composition) -> str:
    """Returns the lowest and highest numbers of 200 papers beside those of the blueprint."""
    plan = composition.exam.blueprint
    rows = [
        ("questions", *map(points, composition.questions), points(plan and plan.questions)),
        ("parts", *map(points, composition.parts), ""),
        ("minutes", *map(_format_minutes, composition.minutes), points(plan and plan.minutes)),
        ("points", *map(points, composition.points), points(plan and plan.points)),
    ]
    for shares, targets in (
        (composition.families, plan.families if plan else {}),
        (composition.levels, {str(k): v for k, v in plan.levels.items()} if plan else {}),
    ):
        for name, share in shares.items():
            target = f"{targets[name]:.0%}" if name in targets else ""
            rows.append((name, *(f"{value:.0%}" for value in share), target))
    header = ("of 200 papers", "lowest", "highest", "blueprint")
    columns = 4 if plan else 3
    return table(header[:columns], [row[:columns] for row in rows], right=(1, 2, 3)[: columns - 1])


def _format_minutes(value: float) -> str:
    return f"{value:.1f}"


def _describe_papers(composition: Composition) -> Iterator[str]:
    """Yields sentences about what all papers share and how much they differ."""
    ranges = {
        "points": (composition.points,),
        "shares of families": composition.families.values(),
        "shares of levels": composition.levels.values(),
    }
    same = [what for what, pairs in ranges.items() if all(map(_has_equal_ends, pairs))]
    low, high = composition.minutes
    if _has_equal_ends(composition.minutes):
        yield f"Every paper takes {low:.1f} minutes."
    else:
        excess = (high - low) / low
        yield f"The longest paper takes {excess:.1%} more minutes than the shortest."
    if same:
        yield f"All papers have the same {_join_words(same)}."
    limit = composition.exam.minutes
    if limit is not None and high > limit + _SHORT:
        yield f"The set allows {limit:g} minutes, but a paper can take {high:.1f}."
    if composition.on_one_concept > 1:
        yield f"Up to {composition.on_one_concept} problems of a paper examine the same concept."
    elif composition.concepts:
        yield "No two problems of a paper examine the same concept."


def _has_equal_ends(pair: Range) -> bool:
    return pair[1] - pair[0] < _SAME


def _join_words(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)}{',' * (len(first) > 1)} and {last}" if first else last


def _concept_lines(composition: Composition, topics: Mapping[str, str]) -> Iterator[str]:
    """Yields the concepts of all papers, by topic."""
    if not composition.concepts:
        return
    by_topic = group_by_key((topics.get(each, "unknown"), each) for each in composition.concepts)
    listed = ", ".join(f"{topic} ({', '.join(ids)})" for topic, ids in sorted(by_topic.items()))
    yield f"{count_of(len(composition.concepts), 'concept')}:"
    yield from textwrap.wrap(
        listed, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
