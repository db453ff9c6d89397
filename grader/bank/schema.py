"""The JSON Schema of problems, sets, and course files, for completion and checks in an editor."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection
from typing import Any

from pydantic import TypeAdapter

from grader.bank.shape import adapter
from grader.figures import figure_types
from grader.kinds import kinds
from grader.model import FAMILIES, ExamSet, Problem
from grader.model.course import (
    AttemptPolicy,
    Course,
    CourseSet,
    GradingPlan,
    Grant,
    LatePolicy,
    StaffMember,
)


def json_schema(families: Collection[str] = FAMILIES) -> dict[str, Any]:
    """Returns the JSON Schema of a problem in one of *families*. Parts have one alternative per
    `kind`."""
    schema = adapter(Problem).json_schema()
    definitions = schema.setdefault("$defs", {})
    definitions.pop("Part", None)
    schema["properties"].pop("solution", None)
    schema["properties"]["family"]["enum"] = list(families)
    alternatives = []
    for name in sorted(kinds):
        part = TypeAdapter(kinds.find(name).spec).json_schema()
        definitions.update(part.pop("$defs", {}))
        _describe(part, kinds.find(name).spec)
        part["properties"]["kind"] = {"const": name}
        part["required"] = sorted({*part.get("required", []), "kind", "id", "ask"})
        definitions[f"part-{name}"] = part
        alternatives.append({"$ref": f"#/$defs/part-{name}"})
    schema["properties"]["parts"] = {
        "type": "array",
        "minItems": 1,
        "items": {"oneOf": alternatives},
    }
    definitions.pop("Figure", None)
    schema["properties"]["figures"] = {
        "type": "array",
        "items": {"oneOf": [_figure_schema(name, definitions) for name in sorted(figure_types)]},
    }
    _describe(schema, Problem)
    return _with_title(schema, "problem")


def _figure_schema(name: str, definitions: dict[str, Any]) -> dict[str, str]:
    """Adds the definition of a type of figure, and returns a reference to it."""
    spec = figure_types.find(name).spec
    figure = TypeAdapter(spec).json_schema()
    definitions.update(figure.pop("$defs", {}))
    _describe(figure, spec)
    figure["properties"]["type"] = {"const": name}
    definitions[f"figure-{name}"] = figure
    return {"$ref": f"#/$defs/figure-{name}"}


def set_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a set."""
    return _with_title(adapter(ExamSet).json_schema(), "set")


def course_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a course file."""
    schema = adapter(Course).json_schema()
    _describe(schema, Course)
    for record in (AttemptPolicy, CourseSet, GradingPlan, Grant, LatePolicy, StaffMember):
        _describe(schema["$defs"][record.__name__], record)
    return _with_title(schema, "course")


def _with_title(schema: dict[str, Any], noun: str) -> dict[str, Any]:
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return schema | about | {"title": f"systems-grader {noun}"}


def _describe(schema: dict[str, Any], record: type) -> None:
    """Adds the docstring of each field of the record to the schema as its description."""
    for name, sentence in field_sentences(record).items():
        if name in schema.get("properties", {}):
            schema["properties"][name].setdefault("description", sentence)


def field_sentences(record: type) -> dict[str, str]:
    """Returns the docstring of each field of *record* and its bases, from the source."""
    sentences: dict[str, str] = {}
    for cls in reversed(record.__mro__):
        if dataclasses.is_dataclass(cls):
            sentences_of_class = re.findall(
                r'^    (\w+): [^\n]*\n    """(.*?)"""', inspect.getsource(cls), re.M | re.S
            )
            sentences.update({name: " ".join(text.split()) for name, text in sentences_of_class})
    return sentences
