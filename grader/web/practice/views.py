"""What a page of practice shows of each part, and how pages are rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.figures import draw_once, figure_svg
from grader.kinds import kinds
from grader.kinds.answers import explain_part
from grader.kinds.code import ExampleResult
from grader.kinds.criteria import Criterion
from grader.kinds.texts import fill
from grader.model import Mark, Verdict
from grader.notebook.render import cell_id
from grader.report.pages import VERDICTS
from grader.text.templates import html_environment, render_template
from grader.text.words import part_letter
from grader.units import printed_unit
from grader.web.practice.answers import form_of
from grader.web.practice.question import PracticeQuestion, criteria
from grader.web.practice.session import Practice


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One part on the page: its question and input, and once it is answered, its mark and key."""

    name: str
    letter: str
    """Empty if it is the only part."""
    form: str
    kind: str
    ask: str
    """Markdown."""
    how: str
    """That a whole number is wanted, or the rule for part credit; may be empty."""
    points: float
    unit: str
    key: Any
    """The key; templates read only its public fields. **Secret.**"""
    starter: str
    examples: str
    """The source of the visible examples of code; empty if there are none."""
    error: str
    mark: Mark | None
    example_results: Sequence[ExampleResult]
    accepted_answer: str
    """The right answer as Markdown; empty until it is answered."""
    criteria: Sequence[Criterion]
    titles: Sequence[str]
    """The column heads of a table, with units."""


def part_views(practice: Practice) -> Iterator[PartView]:
    """Yields the parts of the question on the page."""
    asked = practice.question
    if asked is None:
        return
    question = asked.preview.paper.questions[0]
    alone = len(question.keys) == 1
    for index, part_id in enumerate(question.keys):
        yield _part_view(practice, asked, part_id, "" if alone else part_letter(index))


def _part_view(practice: Practice, asked: PracticeQuestion, part_id: str, letter: str) -> PartView:
    """Returns one part of the page, with its mark and right answer once it has been marked."""
    question, marked = asked.preview.paper.questions[0], practice.result
    name, key, points = question.name(part_id), question.keys[part_id], question.points[part_id]
    kind, form = kinds.find(key.part.kind), form_of(key)
    heads = zip(getattr(key, "titles", ()), getattr(key, "units", ()), strict=True)
    is_table = form == "table"
    return PartView(
        name=name,
        letter=letter,
        form=form,
        kind=key.part.kind,
        ask=fill(key.part.ask, key.draw),
        how=_input_hint(key.part.kind, kind.instructions(key)),
        points=points,
        unit=printed_unit(getattr(key.part, "unit", "") or ""),
        key=key,
        starter=asked.sources.get(cell_id(name), "") if form == "code" else "",
        examples=asked.sources.get(cell_id(f"try-{name}"), "") if form == "code" else "",
        error=practice.problems_with.get(name, "") if marked is None else "",
        mark=marked.marks[name] if marked else None,
        example_results=marked.examples.get(name, ()) if marked else (),
        accepted_answer=explain_part(kind, key) if marked and form != "text" else "",
        criteria=criteria(key, points) if marked else (),
        titles=[f"{t} ({printed_unit(u)})" if u else t for t, u in heads] if is_table else (),
    )


def _input_hint(kind: str, instructions: str) -> str:
    """Returns the hint at an input: that a whole number is wanted, or the rule for part credit."""
    form, _, rule = instructions.partition("; ")
    hint = form if kind == "integer" else rule
    return f"{hint[:1].upper()}{hint[1:]}." if hint else ""


class PracticeRenderer:
    """The compiled templates of one bank."""

    def __init__(self, folders: tuple[Path, ...]):
        self._environment = html_environment(folders, {"figure_svg": figure_svg})
        self._environment.globals |= {"VERDICTS": VERDICTS, "Verdict": Verdict}

    def page(self, name: str, **names: object) -> str:
        """Returns the HTML of the page *name*."""
        return draw_once(render_template(self._environment, f"practice/{name}.html.j2", **names))
