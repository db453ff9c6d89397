"""Renders a paper as the cells of a student's notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader import units
from grader.errors import SpecError
from grader.expressions import evaluate
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python
from grader.kinds.texts import fill
from grader.model import SAMPLE, Key, Paper, Question, Variant
from grader.notebook import Cell
from grader.notebook.render.answer_cells import (
    choices_text,
    code_cell,
    examples_cell,
    placeholder,
    tool_cells,
)
from grader.notebook.render.closing import check_of, owner_texts, wrap_literal
from grader.notebook.render.heading import how_to_answer
from grader.words import points

if TYPE_CHECKING:
    from jinja2 import Environment, Template

SCHEMA = "systems-grader/notebook/v1"

_GOES_ON = {"tags": ["raises-exception"]}
"""Metadata of a cell whose error does not stop "Run All" in Jupyter and VS Code."""
_FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
"""Metadata of a cell whose code is hidden at first: in Colab, and in Jupyter."""


def render(
    paper: Paper, templates: tuple[Path, ...], answers: Mapping[str, str] | None = None
) -> tuple[Cell, ...]:
    """The cells of the notebook for *paper*.

    *answers* has Python expressions for the named answer cells. Without it, the notebook contains
    nothing of the keys.
    """
    return tuple(_cells(paper, _templates(templates), answers or {}))


def metadata(paper: Paper) -> dict[str, object]:
    """The notebook's metadata, which identifies its student or shared version.

    No points depend on it.
    """
    student = paper.student
    return {
        "grader": {
            "schema": SCHEMA,
            "set": paper.exam.id,
            "release": paper.release,
            **({"version": student.version} if student.version else {"student": student.id}),
            "answers": [_sheet(name, key) for name, key in paper.named_keys()],
        },
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def _sheet(name: str, key: Key) -> dict[str, object]:
    kind = kinds.find(key.part.kind)
    return {"name": name, "kind": key.part.kind, "how": kind.instructions(key), **kind.sheet(key)}


def solution(paper: Paper) -> dict[str, str]:
    """Every answer's variable to the right answer as a Python expression. **Secret.**"""
    return {
        name: answer_as_python(kinds.find(key.part.kind), key) for name, key in paper.named_keys()
    }


def given_values(variant: Variant) -> list[tuple[str, str]]:
    """The table of given values: label and value as text."""
    rows: list[tuple[str, str]] = []
    for name, parameter in variant.problem.parameters.items():
        if not parameter.shown:
            continue
        if parameter.rows:
            for column in parameter.rows[0]:
                label = parameter.labels.get(column, column.replace("_", " "))
                rows.append((label, units.format_quantity(variant.draw.parameters[column])))
        else:
            label = parameter.label or name.replace("_", " ")
            rows.append((label, units.format_quantity(variant.draw.parameters[name])))
    for label, expression in variant.problem.given.items():
        rows.append(
            (
                label,
                units.format_quantity(evaluate(expression, variant.draw.scope, variant.draw.facts)),
            )
        )
    return rows


def _cells(
    paper: Paper, templates: Mapping[str, Template], answers: Mapping[str, str]
) -> Iterator[Cell]:
    yield Cell(type="markdown", id="title", source=_title(paper, templates))
    for question in paper.questions:
        yield from _question(question, templates, answers)
    yield Cell(type="markdown", id="closing", source=_fill_shared(templates["closing.md"]))
    about = (paper.exam.id, paper.release, *owner_texts(paper.student))
    code = _fill(templates["closing.py"], **check_of(dict(paper.named_keys()), about))
    yield Cell(type="code", id="closing-check", source=code, metadata=_FOLDED)


def check(keys: Mapping[str, Key], about: Sequence[str], templates: tuple[Path, ...]) -> str:
    """The source of the check in a notebook's last cell, for the answers of these names."""
    return _fill(_templates(templates)["closing.py"], **check_of(keys, about))


def _title(paper: Paper, templates: Mapping[str, Template]) -> str:
    return _fill(
        templates["title.md"],
        exam=paper.exam,
        student=paper.student,
        sample=paper.student.version == SAMPLE,
        instructions=paper.exam.instructions.strip(),
        questions=len(paper.questions),
        points=points(paper.max_points),
        **how_to_answer({name: key.part for name, key in paper.named_keys()}),
    )


def _question(
    question: Question, templates: Mapping[str, Template], answers: Mapping[str, str]
) -> Iterator[Cell]:
    variant, problem, number = question.variant, question.variant.problem, question.number
    dice = variant.draw
    yield Cell(
        type="markdown",
        id=f"q{number}",
        source=_fill(
            templates["question.md"],
            number=number,
            title=problem.title,
            points=points(sum(question.points.values())),
            prompt=fill(problem.prompt, dice),
            given=given_values(variant),
            assumptions=[fill(a, dice) for a in problem.assumptions],
        ),
    )
    yield from _tool_cells(question)
    for index, (part_id, key) in enumerate(question.keys.items()):
        kind, name = kinds.find(key.part.kind), question.name(part_id)
        letter = letter_of(index)
        yield Cell(
            type="markdown",
            id=f"ask-{name}"[:64].replace("_", "-"),
            source=_fill_shared(
                templates["ask.md"],
                number=number,
                letter=letter,
                points=points(question.points[part_id]),
                ask=fill(key.part.ask, dice),
                options=choices_text(key),
            ),
        )
        yield Cell(
            type="code",
            id=name[:64].replace("_", "-"),
            metadata=_GOES_ON,
            source=_fill_shared(
                templates["answer.py"],
                number=number,
                letter=letter,
                how=kind.instructions(key),
                name=name,
                value=answers.get(name) or placeholder(key),
                definition=code_cell(name, key, answers.get(name)),
            ),
        )
        shown = examples_cell(name, key)
        if shown:
            cell = f"try-{name}"[:64].replace("_", "-")
            yield Cell(type="code", id=cell, source=shown, metadata=_GOES_ON)


def _tool_cells(question: Question) -> Iterator[Cell]:
    """Cells with the definitions that answers of *question* may use."""
    around: dict[str, str] = {}
    for key in question.keys.values():
        around.update(tool_cells(key))
    for name, source in around.items():
        cell = f"q{question.number}-{name}"[:64].replace("_", "-")
        yield Cell(type="code", id=cell, source=source.strip("\n"), metadata=_GOES_ON)


def letter_of(index: int) -> str:
    """The letter of a part within its problem: a, b, ..., z, aa.

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('a', 'z', 'aa')
    """
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def _fill(template: Template, **names: object) -> str:
    from jinja2 import TemplateError

    # What Template.render does, without copying the globals one by one.
    environment = template.environment
    context = template.new_context({**environment.globals, **names}, shared=True)
    try:
        return environment.concat(template.root_render_func(context)).strip("\n")
    except TemplateError as error:
        raise SpecError(
            f"a template of the notebook can't be filled in: {error}",
            where=template.filename,
            fix="the templates/ folder of a bank overrides the built-in one; compare the two",
        ) from None


def _fill_shared(template: Template, **names: str | int) -> str:
    """Fills in a template, with a cache for cells that most notebooks have in common."""
    return _fill_cached(template, tuple(names.items()))


@lru_cache(maxsize=2048)
def _fill_cached(template: Template, names: tuple[tuple[str, str | int], ...]) -> str:
    return _fill(template, **dict(names))


_NAMES = ("title.md", "question.md", "ask.md", "answer.py", "closing.md", "closing.py")


@lru_cache(maxsize=8)
def _templates(folders: tuple[Path, ...]) -> Mapping[str, Template]:
    """The templates of a notebook's cells, compiled once; each file makes one cell."""
    from jinja2 import TemplateError

    environment = _environment(folders)
    try:
        return {name: environment.get_template(f"notebook/{name}.j2") for name in _NAMES}
    except TemplateError as error:
        raise SpecError(
            f"a template of the notebook can't be used: {error}",
            where=", ".join(str(f) for f in folders),
            fix="the templates/ folder of a bank overrides the built-in one; compare the two",
        ) from None


def _environment(folders: tuple[Path, ...]) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(list(folders)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - what comes out is Markdown and Python, never HTML
    )
    environment.filters["plain"] = units.format_number
    environment.filters["literal"] = wrap_literal
    return environment
