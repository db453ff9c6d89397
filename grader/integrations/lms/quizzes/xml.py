"""XML documents from the package's templates, with arbitrary text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from grader.bank.index import own_bank
from grader.text.templates import make_environment, render_template

if TYPE_CHECKING:
    from jinja2 import Environment

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_BETWEEN_TAGS = re.compile(r">\s+<")
"""White space that templates leave; in texts, both characters are escaped."""


def replace_forbidden(text: str) -> str:
    """Returns *text* with LF line ends, and with U+FFFD in place of characters that XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def render_xml(template: str, values: Mapping[str, object]) -> bytes:
    """Returns the document in UTF-8 that one of the package's templates makes of *values*."""
    text = render_template(_environment(), template, **values)
    return _BETWEEN_TAGS.sub(">\n<", text).encode()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    def finalize(value: object) -> object:
        return replace_forbidden(value) if type(value) is str else value

    return make_environment((own_bank() / "templates",), autoescape=True, finalize=finalize)
