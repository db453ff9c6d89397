"""The check in a notebook's last cell: what it must know to read answers as grading does."""

from __future__ import annotations

import pprint
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from textwrap import indent, shorten, wrap

from grader import units
from grader.kinds import explanation, kinds, lettered, matching, multi_choice, scalars, short_text
from grader.kinds.true_false import WORDS
from grader.model import SAMPLE, Key, Student
from grader.units import notation, parse, table

_READERS = {
    "numeric": "number",
    "integer": "number",
    "prediction": "number",
    "choice": "choice",
    "multi_choice": "multi_choice",
    "ordering": "ordering",
    "matching": "matching",
    "table": "table",
    "true_false": "true_false",
    "short_text": "short_text",
    "explanation": "explanation",
    "code": "code",
    "measurement": "code",
}
"""The function of the check that reads answers of a kind; it says of others that it can't."""
_WIDE = 72
"""Characters of what is asked, in the notebook's own check."""
_LINE = 76
"""Characters of a literal in one line of it."""


def check_of(keys: Mapping[str, Key], about: Sequence[str]) -> dict[str, object]:
    """What fills in the template of the check for the answers of these names; nothing secret.

    *about* says which exam and release it is, and whose.
    """
    forms = {name: kinds.find(key.part.kind).form(key) for name, key in keys.items()}
    asked = {key.part.kind for key in keys.values()}
    return {
        "about": repr(tuple(about)),
        "lines": [_line(name, key) for name, key in keys.items()],
        "forms": [(name, form) for name, form in forms.items() if form is not None],
        "readers": {kind: reader for kind, reader in _READERS.items() if kind in asked},
        "units": _units(frozenset(unit for key in keys.values() for unit in _asked(key))),
        "notation": notation,
        "lettered": lettered,
        "nothing": multi_choice.NONE,
        "pair": matching.PAIR,
        "words": tuple(WORDS),
        "most": {
            "text": notation.LONGEST_TEXT,
            "digits": scalars.MAX_DIGITS,
            "unit": parse.MAX_LENGTH,
            "short_text": short_text.MAX_LENGTH,
            "words": explanation.FEWEST_WORDS,
        },
    }


def _line(name: str, key: Key) -> str:
    """A line of what the check knows of an answer, as Python: its name, its form, what is asked."""
    kind = kinds.find(key.part.kind)
    # What earns how much stands in the answer's own cell, behind a semicolon.
    asked = kind.how(key).split(";")[0]
    if len(asked) > _WIDE:
        asked = shorten(asked, _WIDE, placeholder=" …")
    return repr((name, f"{key.part.kind} {kind.brief(key)}".strip(), asked))


def literal(value: object, spaces: int = 4) -> str:
    """*value* as Python; one that is long in lines of its own, behind that many spaces.

    >>> literal("a b", 8), literal(("x", 1))
    ("'a b'", "('x', 1)")
    """
    written = repr(value)
    if len(written) <= _LINE:
        return written
    written = pprint.pformat(value, width=_LINE, compact=True, sort_dicts=False)
    if isinstance(value, str):
        pieces = wrap(
            value, _LINE, drop_whitespace=False, replace_whitespace=False, break_on_hyphens=False
        )
        written = "(\n" + indent("\n".join(map(repr, pieces)), "    ") + "\n)"
    return indent(written, " " * spaces).lstrip()


@lru_cache(maxsize=256)
def _units(asked: frozenset[str]) -> tuple[tuple[tuple[int, ...], str], ...]:
    """The names of all units of which one of *asked* can be made, by their dimension."""
    dimensions = [units.unit(unit).dimension for unit in asked]
    used = {at for dimension in dimensions for at, power in enumerate(dimension) if power}
    known: dict[tuple[int, ...], list[str]] = {}
    for name, measure in table.SYMBOLS.items():
        if used.issuperset(at for at, power in enumerate(measure.dimension) if power):
            known.setdefault(measure.dimension, []).append(name)
    return tuple((dimension, " ".join(names)) for dimension, names in known.items())


def _asked(key: Key) -> Iterator[str]:
    """The units that numbers of an answer are asked in."""
    sheet = kinds.find(key.part.kind).sheet(key) if key.part.kind in _READERS else {}
    columns = sheet.get("columns", ())
    if isinstance(sheet.get("unit"), str):
        yield str(sheet["unit"])
    if isinstance(columns, list):
        yield from (str(unit) for _, unit in columns)


def whose(student: Student) -> tuple[str, ...]:
    """Whose notebook it is, as it is printed; of a version also its name alone, to be read again.

    >>> whose(Student(id="ada", version="B"))
    ('version B', 'B')
    """
    if student.version == SAMPLE:
        return f"practice ({SAMPLE}, not graded)", SAMPLE
    return (f"version {student.version}", student.version) if student.version else (student.id,)
