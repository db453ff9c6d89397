"""Markdown and LaTeX with placeholders, filled in from a scope; Jinja2 waits until one needs it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader.expressions.fault import TextError
from grader.expressions.functions import Facts
from grader.units.quantity import Value

if TYPE_CHECKING:
    from grader.expressions.template import Compiled

MAX_LENGTH = 20_000
NO_FACTS: Facts = MappingProxyType({})


def fill(text: str, scope: Mapping[str, Value], facts: Facts = NO_FACTS) -> str:
    """*text* with its placeholders filled in; Markdown and LaTeX stay as they are.

    Raises TextError with the line to blame.
    """
    # Most texts have no placeholder, and none of them needs Jinja2.
    if not _has_placeholders(text):
        return text
    return _compiled(text).fill(scope, facts)


def text_names(text: str) -> frozenset[str]:
    """The names in *text* that a scope must bind; neither units nor functions.

    Raises TextError for bad syntax.
    """
    if not _has_placeholders(text):
        return frozenset()
    return _compiled(text).names


def _has_placeholders(text: str) -> bool:
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


def _compiled(text: str) -> Compiled:
    if len(text) > MAX_LENGTH:
        what = f"the text is {len(text)} characters long, at most {MAX_LENGTH} are read"
        raise TextError(what, fix="split it")
    from grader.expressions.template import compiled

    return compiled(text)
