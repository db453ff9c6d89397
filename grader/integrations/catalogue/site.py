"""Writes the pages of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import get_args

from grader.bank.folders import Bank
from grader.errors import SpecError
from grader.figures import draw_once, figure_svg
from grader.files import write_atomic
from grader.integrations.catalogue.entries import CatalogueEntry, collect_entries
from grader.integrations.catalogue.search import (
    extra_search_words,
    related_problems,
    title_words,
    topic_words,
)
from grader.model import Level
from grader.report.pages import format_coefficient, format_percent
from grader.text.templates import html_environment, render_template
from grader.text.words import count_of, kind_words, part_letter

MADE_BY = '<meta name="generator" content="grader catalogue">'
"""What tells a page of the catalogue from any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCatalogue:
    """The pages that were written, and the errors in problems and sets that were left out."""

    index: Path
    problems: int
    pages: int
    errors: tuple[SpecError, ...]


def write_catalogue(bank: Bank, out: Path, *, solutions: bool = True) -> WrittenCatalogue:
    """Writes the catalogue of *bank* into *out*, with solutions if *solutions*; removes old pages
    there."""
    entries, errors = collect_entries(bank)
    written = set()
    for place, text in _render_pages(entries, bank.templates, solutions=solutions):
        target = out / place
        write_atomic(target, text.encode("utf-8", "backslashreplace"))
        written.add(target)
    _remove_old_pages(out, written)
    index = out / "index.html"
    return WrittenCatalogue(index=index, problems=len(entries), pages=len(written), errors=errors)


def _render_pages(
    entries: Sequence[CatalogueEntry], templates: tuple[Path, ...], *, solutions: bool
) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each page."""
    environment = _environment(templates)

    def page(name: str, **names: object) -> str:
        template = f"catalogue/{name}.html.j2"
        return draw_once(
            render_template(environment, template, made_by=MADE_BY, solutions=solutions, **names)
        )

    yield "index.html", page("index", entries=entries, **_filter_options(entries))
    for place, entry in enumerate(entries):
        around = {
            "before": entries[place - 1] if place else None,
            "after": entries[place + 1] if place + 1 < len(entries) else None,
        }
        like = related_problems(entry, entries)
        yield f"problems/{entry.head.id}.html", page("problem", entry=entry, like=like, **around)
        if solutions:
            yield f"solutions/{entry.head.id}.html", page("solution", entry=entry)


def _filter_options(entries: Sequence[CatalogueEntry]) -> dict[str, object]:
    """Returns the options of the filters on the index, without options that no problem has."""
    levels = {entry.head.level for entry in entries}
    asked = {kind for entry in entries for kind in entry.kinds}
    sets = {name: title for entry in entries for name, title in entry.sets.items()}
    return {
        "families": {entry.head.family: entry.family for entry in entries},
        "levels": [level for level in get_args(Level) if level in levels],
        "kinds": sorted(asked, key=kind_words),
        "sets": dict(sorted(sets.items(), key=lambda pair: pair[1])),
        "topics": sorted({concept.topic for entry in entries for concept in entry.concepts}),
    }


def _remove_old_pages(out: Path, written: set[Path]) -> None:
    """Removes pages of an earlier catalogue, such as solutions that are left out now."""
    for folder in ("problems", "solutions"):
        for path in (out / folder).glob("*.html"):
            if path not in written and MADE_BY.encode() in path.read_bytes():
                path.unlink()


_FILTERS = {
    "coefficient": format_coefficient,
    "counted": count_of,
    "figure_svg": figure_svg,
    "letter": lambda place: part_letter(place - 1),
    "percent": format_percent,
    "extra_search_words": extra_search_words,
    "title_words": title_words,
    "topic_words": topic_words,
}
_environment = lru_cache(maxsize=8)(partial(html_environment, filters=_FILTERS))
