"""Renders a paper as the cells of a student's notebook."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from grader import units
from grader.expressions import evaluate
from grader.figures import prompt_figures
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python
from grader.kinds.attempts import Code
from grader.kinds.numeric import NumberPart, Numeric
from grader.kinds.table import Table
from grader.kinds.texts import fill
from grader.model import SAMPLE, Key, Paper, Part, Question, Tolerance, Variant
from grader.model.result import GivenValue
from grader.notebook import Cell
from grader.notebook.render.answer_cells import (
    choices_text,
    code_cell,
    examples_cell,
    placeholder,
    tool_cells,
)
from grader.notebook.render.closeness import (
    common_tolerance,
    tolerance_note,
    tolerance_sentence,
)
from grader.notebook.render.closing import check_of, owner_fields, wrap_literal
from grader.notebook.render.figure_cells import figure_cell
from grader.text.templates import make_environment, render_template
from grader.text.words import part_letter, points
from grader.units.quantity import Value

if TYPE_CHECKING:
    from jinja2 import Environment

SCHEMA = "systems-grader/notebook/v1"

_COMMENT_WIDTH = 84
"""The most characters of a line that editors and printers show without scrolling."""
_GOES_ON = {"tags": ["raises-exception"]}
"""Metadata of a cell whose error does not stop "Run All" in Jupyter and VS Code."""
_FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
"""Metadata of a cell whose code is hidden at first: in Colab, and in Jupyter."""
_FOLDED_TOOL = {**_FOLDED, **_GOES_ON}


def render(
    paper: Paper, templates: tuple[Path, ...], answers: Mapping[str, str] | None = None
) -> tuple[Cell, ...]:
    """Returns the cells of the notebook for *paper*.

    *answers* has Python expressions for the named answer cells. Without it, the notebook contains
    nothing of the keys.
    """
    return tuple(_iter_paper_cells(paper, templates, answers or {}))


def metadata(paper: Paper) -> dict[str, object]:
    """Returns the notebook's metadata, which identifies its student or shared version.

    No points depend on it.
    """
    student = paper.student
    return {
        "grader": {
            "schema": SCHEMA,
            "set": paper.exam.id,
            "release": paper.release,
            **({"version": student.version} if student.version else {"student": student.id}),
            "answers": [
                {
                    "name": name,
                    "kind": key.part.kind,
                    "how": kind.instructions(key),
                    **kind.sheet(key),
                }
                for name, key in paper.named_keys()
                for kind in (kinds.find(key.part.kind),)
            ],
        },
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def solution(paper: Paper) -> dict[str, str]:
    """Returns the right answer to each part as a Python expression, by variable. **Secret.**"""
    return {
        name: answer_as_python(kinds.find(key.part.kind), key) for name, key in paper.named_keys()
    }


def given_values(variant: Variant) -> list[GivenValue]:
    """Returns the rows of the table of given values."""
    draw = variant.draw
    values: list[tuple[str, Value]] = []
    for name, parameter in variant.problem.parameters.items():
        if parameter.shown and parameter.rows:
            for column in parameter.rows[0]:
                label = parameter.labels.get(column, column.replace("_", " "))
                values.append((label, draw.parameters[column]))
        elif parameter.shown:
            values.append((parameter.label or name.replace("_", " "), draw.parameters[name]))
    for label, expression in variant.problem.given.items():
        values.append((label, evaluate(expression, draw.scope, draw.facts)))
    return [GivenValue(label, units.format_quantity(value)) for label, value in values]


def _iter_paper_cells(
    paper: Paper, templates: tuple[Path, ...], answers: Mapping[str, str]
) -> Iterator[Cell]:
    """Yields the title, the tools, the questions, and the closing cells with the check."""
    yield Cell(type="markdown", id="title", source=_fill_title(paper, templates))
    yield from _iter_tool_cells(paper, templates)
    common = common_tolerance([key.part for _, key in paper.named_keys()])
    for question in paper.questions:
        yield from _iter_question_cells(question, templates, answers, common)
    yield Cell(type="markdown", id="closing", source=_fill_shared(templates, "closing.md"))
    about = (paper.exam.id, paper.release, *owner_fields(paper.student))
    code = check(dict(paper.named_keys()), about, templates)
    yield Cell(type="code", id="closing-check", source=code, metadata=_FOLDED)


def check(keys: Mapping[str, Key], about: Sequence[str], templates: tuple[Path, ...]) -> str:
    """Returns the source of the check in a notebook's last cell, for the answers of these names."""
    return _fill(templates, "closing.py", **check_of(keys, about))


def _fill_title(paper: Paper, templates: tuple[Path, ...]) -> str:
    """Returns the text of the first cell, which says how to answer."""
    return _fill(
        templates,
        "title.md",
        exam=paper.exam,
        student=paper.student,
        sample=paper.student.version == SAMPLE,
        instructions=paper.exam.instructions.strip(),
        questions=len(paper.questions),
        points=points(paper.max_points),
        **how_to_answer({name: key.part for name, key in paper.named_keys()}),
    )


def _iter_tool_cells(paper: Paper, templates: tuple[Path, ...]) -> Iterator[Cell]:
    """Yields the definitions that answers may use, each once, with their code hidden at first."""
    tools: dict[str, str] = {}
    for _, key in paper.named_keys():
        tools |= tool_cells(key)
    compares = any(examples_cell(name, key) for name, key in paper.named_keys())
    if tools or compares:
        yield Cell(type="markdown", id="tools", source=_fill_shared(templates, "tools.md"))
    for name, source in tools.items():
        text = _tool_cell(name, source, templates)
        yield Cell(type="code", id=cell_id(f"tools-{name}"), source=text, metadata=_FOLDED_TOOL)
    if compares:
        source = _fill_shared(templates, "compare.py")
        yield Cell(type="code", id="tools-of-examples", source=source, metadata=_FOLDED_TOOL)


def _tool_cell(name: str, source: str, templates: tuple[Path, ...]) -> str:
    """Returns the code that defines a tool as a module and imports its public names.

    In a module of its own, a tool finds its own names, whatever other cells define.
    """
    return _fill_shared(
        templates,
        "tool.py",
        title=_subject(source),
        module=f"exam_{name}",
        source=source.strip(),
        names=", ".join(_public_names(source)),
    )


def _public_names(source: str) -> list[str]:
    """Returns the public names that a module defines, without those that it imports."""
    names: list[str] = []
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _subject(source: str) -> str:
    """Returns the start of a module's docstring, as a title."""
    docstring = ast.get_docstring(ast.parse(source)) or "Definitions"
    return re.split(r"[:.\n]", docstring)[0]


def _iter_question_cells(
    question: Question,
    templates: tuple[Path, ...],
    answers: Mapping[str, str],
    common: Tolerance | None,
) -> Iterator[Cell]:
    """Yields the prompt and its figures, and for each part what is asked, the answer, and
    examples."""
    variant, problem, number = question.variant, question.variant.problem, question.number
    drawn = variant.draw
    yield Cell(
        type="markdown",
        id=f"q{number}",
        source=_fill(
            templates,
            "question.md",
            number=number,
            title=problem.title,
            points=points(sum(question.points.values())),
            prompt=fill(problem.prompt, drawn),
            given=given_values(variant),
            assumptions=[fill(a, drawn) for a in problem.assumptions],
        ),
    )
    for figure in prompt_figures(variant):
        yield figure_cell(number, figure)
    for index, (part_id, key) in enumerate(question.keys.items()):
        kind, name = kinds.find(key.part.kind), question.name(part_id)
        letter = part_letter(index)
        yield Cell(
            type="markdown",
            id=cell_id(f"ask-{name}"),
            source=_fill_shared(
                templates,
                "ask.md",
                number=number,
                letter=letter,
                points=points(question.points[part_id]),
                ask=fill(key.part.ask, drawn),
                options=choices_text(key),
                closeness=tolerance_note(key.part, common, getattr(key, "titles", ())),
            ),
        )
        yield Cell(
            type="code",
            id=cell_id(name),
            metadata=_GOES_ON,
            source=_fill_shared(
                templates,
                "answer.py",
                how=_wrap_comment(f"{number} ({letter}): {kind.instructions(key)}"),
                name=name,
                value=answers.get(name) or placeholder(key),
                definition=code_cell(name, key, answers.get(name)),
            ),
        )
        shown = examples_cell(name, key)
        if shown:
            cell = cell_id(f"try-{name}")
            yield Cell(type="code", id=cell, source=shown, metadata=_GOES_ON)


@lru_cache(maxsize=1024)
def _wrap_comment(text: str) -> str:
    """Returns *text* as comment lines that fit into a cell."""
    return "\n".join(f"# {line}" for line in wrap(text, _COMMENT_WIDTH, break_on_hyphens=False))


def cell_id(name: str) -> str:
    """Returns the id of the cell for the answer *name*; nbformat allows 64 characters."""
    return name[:64].replace("_", "-")


def how_to_answer(parts: Mapping[str, Part]) -> dict[str, object]:
    """Returns the values for the template: an answer's name for the example, and which advice
    applies.

    *parts* are the parts of the paper by the names of their answers.
    """
    values = [name for name, part in parts.items() if not isinstance(part, Code)]
    computed = [name for name, part in parts.items() if isinstance(part, Numeric)]
    return {
        "variable": (computed or values or [""])[0],
        "computed": bool(computed),
        "has_code": len(values) < len(parts),
        "has_numbers": any(isinstance(part, NumberPart | Table) for part in parts.values()),
        "tolerance": tolerance_sentence(parts.values()),
    }


@lru_cache(maxsize=2048)
def _fill_shared(folders: tuple[Path, ...], template: str, /, **names: str | int) -> str:
    """Fills in a template, with a cache for cells that most notebooks have in common."""
    return _fill(folders, template, **names)


def _fill(folders: tuple[Path, ...], template: str, /, **names: object) -> str:
    return render_template(_environment(folders), f"notebook/{template}.j2", **names).strip("\n")


@lru_cache(maxsize=8)
def _environment(folders: tuple[Path, ...]) -> Environment:
    """Returns the template environment with the filters for cells."""
    # The cells are Markdown and Python, never HTML.
    environment = make_environment(folders, autoescape=False, auto_reload=False)
    environment.filters |= {"plain": units.format_number, "literal": wrap_literal}
    return environment
