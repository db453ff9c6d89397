"""What a student may read about an exception that a hidden case raised.

The student's code then knows hidden inputs and could put them into an exception's name or text. So
only well-known names and names in our own sources are shown, and of a message only the words from
our sources.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_ANOTHER = "an exception of another type"
_LIBRARIES = ("LinAlgError", "AxisError", "OutOfMemoryError", "JSONDecodeError", "CancelledError")
_USUAL = frozenset(
    [
        *(n for n, one in vars(builtins).items() if isinstance(one, type) and "Error" in n),
        *("StopIteration", "StopAsyncIteration", "SystemExit", "Exception", *_LIBRARIES),
    ]
)
_LONGEST = 300


def describe_exception(kind: object, what: object, sources: tuple[str, ...]) -> tuple[str, str]:
    """Returns the exception's type and the safe part of its message; an empty text if there is
    none.

    *sources* are those of the driver and its tools.
    """
    ours = _known_errors_in(sources)
    if not isinstance(kind, str) or kind not in _USUAL | ours.names:
        return _ANOTHER, ""
    if not isinstance(what, str) or len(what) > _LONGEST:
        return kind, ""
    said = (words for name, form, words in ours.messages if name == kind and form.fullmatch(what))
    return kind, next(said, "")


@dataclass(frozen=True, slots=True)
class _KnownErrors:
    names: frozenset[str]
    messages: tuple[tuple[str, re.Pattern[str], str], ...]
    """By exception name: the pattern of a message, and its words without the values."""


@lru_cache(maxsize=64)
def _known_errors_in(sources: tuple[str, ...]) -> _KnownErrors:
    nodes = [node for text in sources for node in ast.walk(ast.parse(text))]
    return _KnownErrors(
        names=frozenset(n.name for n in nodes if isinstance(n, ast.ClassDef)),
        messages=tuple(found for node in nodes for found in _iter_messages(node)),
    )


def _iter_messages(node: ast.AST) -> Iterator[tuple[str, re.Pattern[str], str]]:
    if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
        return
    function, said = node.exc.func, node.exc.args[0]
    pieces = said.values if isinstance(said, ast.JoinedStr) else [said]
    texts = [p.value if isinstance(p, ast.Constant) else None for p in pieces]
    if isinstance(function, ast.Name) and any(isinstance(text, str) for text in texts):
        form = "".join(".*" if text is None else re.escape(str(text)) for text in texts)
        words = "".join("…" if text is None else str(text) for text in texts)
        yield function.id, re.compile(form, re.S), words
