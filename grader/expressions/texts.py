"""Fills in placeholders in Markdown and LaTeX; imports Jinja2 only if a text needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.expressions.fault import TextError
from grader.expressions.functions import NO_FACTS, Facts
from grader.units.quantity import Value

if TYPE_CHECKING:
    from grader.expressions.template import CompiledText

MAX_LENGTH = 20_000


def fill(text: str, scope: Mapping[str, Value], facts: Facts = NO_FACTS) -> str:
    """Returns *text* with its placeholders filled in; Markdown and LaTeX are unchanged.

    Raises TextError with the line of the error.
    """
    # Most texts have no placeholders and don't need Jinja2.
    if not _has_placeholders(text):
        return text
    return _compile(text).fill(scope, facts)


def free_names(text: str) -> frozenset[str]:
    """Returns the names in *text* that a scope must bind, without units and functions.

    Raises TextError for bad syntax.
    """
    if not _has_placeholders(text):
        return frozenset()
    return _compile(text).names


def line_of_name(text: str, name: str) -> int:
    """Returns the line of the first use of *name*, one of the `free_names` of *text*."""
    return _compile(text).lines.get(name, 1)


def _has_placeholders(text: str) -> bool:
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


def _compile(text: str) -> CompiledText:
    if len(text) > MAX_LENGTH:
        what = f"the text has {len(text)} characters, more than the limit of {MAX_LENGTH}"
        raise TextError(what, fix="shorten it")
    from grader.expressions.template import compile_text

    return compile_text(text)
