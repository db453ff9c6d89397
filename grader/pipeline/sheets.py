"""What a notebook says of itself: whose it is, and how each of its answers is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from grader.notebook import Notebook

Sheet = Mapping[str, object]

_ASSIGNED = re.compile(r"^(q\d+_[a-z][a-z0-9_]*)\s*=", re.M)
_CALL = re.compile(r"^_public_check\($(.*?)^\)", re.M | re.S)
_LINE = re.compile(r"^ {4}(\(.{1,2000}\)),$", re.M)
_EXAMPLE = re.compile(r"^print\((.*?)\)\n# expected: ([^\n]*)$", re.M | re.S)
_MOST = 2_000
"""Lines of the public check that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A notebook's own words; the student may have changed any of them, so grading reads none."""

    exam: str = ""
    release: str = ""
    student: str = ""
    sheets: Mapping[str, Sheet | None] = field(default_factory=dict)
    """By answer, in the notebook's order; None where only the name is known."""


def about(notebook: Notebook) -> About:
    """What *notebook* says: from its metadata, and where an editor dropped that, from its code.

    Its last cell has the kinds and units once more, so that a check after Colab still says
    "read as 28 GB". Without that cell only the names of the answers are known.
    """
    return _from_metadata(notebook.metadata.get("grader")) or _from_code(notebook)


def _from_metadata(found: object) -> About | None:
    listed = found.get("answers") if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(listed, list):
        return None
    sheets = {
        str(entry["name"]): entry
        for entry in listed
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
    }
    if not sheets:
        return None
    exam, release, student = (str(found.get(k) or "") for k in ("set", "release", "student"))
    return About(exam=exam, release=release, student=student, sheets=sheets)


def _from_code(notebook: Notebook) -> About:
    sources = [c.source.replace("\r\n", "\n") for c in notebook.cells if c.type == "code"]
    first, *others = next((found for s in reversed(sources) if (found := _lines(s))), [()])
    sheets: dict[str, Sheet | None] = {}
    for line in others:
        if len(line) == 3:
            sheets[line[0]] = _sheet(*line, sources)
    if not sheets:
        sheets = dict.fromkeys(_ASSIGNED.findall("\n".join(sources)))
    exam, release, student = first if len(first) == 3 else ("", "", "")
    return About(exam=exam, release=release, student=student, sheets=sheets)


def _lines(source: str) -> list[tuple[str, ...]]:
    """The arguments of the public check in *source*; none when it is not there."""
    call = _CALL.search(source)
    written = _LINE.findall(call[1])[:_MOST] if call else []
    return [line for line in map(_texts, written) if line]


def _texts(written: str) -> tuple[str, ...]:
    try:
        found = ast.literal_eval(written)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    fits = isinstance(found, tuple) and all(isinstance(text, str) for text in found)
    return found if fits else ()


def _sheet(name: str, form: str, how: str, sources: list[str]) -> Sheet:
    """As much of the answer's sheet as its line gives; kinds refuse one that is not enough."""
    kind, _, brief = form.partition(" ")
    sheet: dict[str, object] = {"name": name, "kind": kind, "how": how, "unit": brief}
    if kind in ("code", "measurement"):
        examples = [list(pair) for pair in _examples(name, sources)]
        sheet |= {"part": name, "starter": "", "examples": examples, "closeness": {}, "seconds": 20}
    return sheet


def _examples(name: str, sources: list[str]) -> Iterator[tuple[str, str]]:
    """The visible examples, from the cell in which the student can try them out."""
    for source in sources:
        pairs = _EXAMPLE.findall(source)
        if pairs and all(re.search(rf"\b{re.escape(name)}\b", call) for call, _ in pairs):
            yield from pairs
