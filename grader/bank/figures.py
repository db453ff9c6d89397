"""Reads the figures of a problem, and checks their ids, places, names, and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.bank.names import check_expression, check_text, parameter_names
from grader.bank.shape import PartialRecord, iter_marked, shape_list
from grader.bank.yaml12 import Located, Path_
from grader.errors import SpecError
from grader.figures import figure_types
from grader.model import Figure, Problem
from grader.registry import suggest

_ID = re.compile(r"[a-z][a-z0-9_-]{,49}\Z")


def shape_figures(source: Located) -> Iterator[PartialRecord]:
    """Yields every figure, validated by its type."""
    yield from shape_list(source, "figures", "figure", "type", figure_types)


def check_figures(problem: Problem, source: Located) -> Iterator[SpecError]:
    """Yields errors in figures that can be found without drawing numbers.

    A figure of the prompt may not name the answers of parts.
    """
    known = {*parameter_names(problem), *problem.values}
    answers = {part.id for part in problem.parts}
    seen: set[str] = set()
    # The cells of a figure `flow` and of a part `figure_flow` would have the same id.
    cells = {
        _cell_name(part.id.removeprefix("figure_")): f"part '{part.id}'"
        for part in problem.parts
        if part.id.startswith("figure_")
    }
    for index, figure in enumerate(problem.figures):
        at: Path_ = ("figures", index)
        if not _ID.match(figure.id):
            fix = "use up to 50 lowercase letters, digits, hyphens, and underscores"
            yield source.error((*at, "id"), f"'{figure.id}' is not a valid id of a figure", fix)
        if figure.id in seen:
            what = f"two figures have the id '{figure.id}'"
            yield source.error((*at, "id"), what, "rename one of them")
        seen.add(figure.id)
        cell = _cell_name(figure.id)
        if figure.show == "prompt":
            if cell in cells:
                what = f"the cells of the figure '{figure.id}' and the {cells[cell]} have one name"
                yield source.error((*at, "id"), what, "rename one of them")
            cells[cell] = f"figure '{figure.id}'"
        if not figure.alt.strip():
            fix = "say in a sentence what the figure shows, for those who can't see it"
            yield source.error((*at, "alt"), "the text is empty", fix)
        yield from _check_place(figure, answers, source, at)
        names = known | (set() if figure.show == "prompt" else answers)
        yield from _check_names(figure, names, source, at)


def _cell_name(name: str) -> str:
    """Returns *name* as it is part of a cell's id, in which underscores become hyphens."""
    return name.replace("_", "-")


def _check_place(
    figure: Figure, answers: set[str], source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields errors if the figure's part does not exist, or if a figure of the prompt has one."""
    if figure.part is None:
        return
    if figure.part not in answers:
        fix = suggest(figure.part, answers, "name a part, or omit 'part'")
        yield source.error((*at, "part"), f"there is no part '{figure.part}'", fix)
    if figure.show == "prompt":
        what = "a figure of the prompt can't belong to a part"
        yield source.error((*at, "part"), what, "omit 'part', or use 'show: explanation'")


def _check_names(
    figure: Figure, known: set[str], source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields errors in expressions and texts of *figure*, such as names not *known*."""
    names = known | set(figure.local_names())
    for path, marker, written in iter_marked(figure, at):
        if marker == "expression":
            yield from check_expression(written, names, source, path)
        elif marker == "text":
            yield from check_text(written, names, source, path)
