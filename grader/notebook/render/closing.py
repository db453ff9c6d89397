"""The check in a notebook's last cell: the data that it needs to read answers as grading does."""

from __future__ import annotations

import ast
import pprint
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from textwrap import indent, shorten, wrap

from grader import units
from grader.kinds import explanation, kinds, lettered, matching, multi_choice, scalars, short_text
from grader.kinds.attempts import CodeKey
from grader.kinds.explanation import ExplanationKey
from grader.kinds.grids import fold_label
from grader.kinds.matching import MatchingKey
from grader.kinds.numeric import NumericKey
from grader.kinds.plan import PlanKey
from grader.kinds.short_text import ShortTextKey
from grader.kinds.table import TableKey
from grader.kinds.true_false import PAIR, WORDS, TrueFalseKey
from grader.model import SAMPLE, Key, Student
from grader.model.grouping import group_by_key
from grader.notebook.render.answer_cells import code_cell, modules_needed
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
    "plan": "plan",
    "true_false": "true_false",
    "short_text": "short_text",
    "explanation": "explanation",
    "code": "code",
    "measurement": "code",
}
"""The function of the check that reads answers of a kind; it reports that it can't read others."""
_DEFINITION = r"^(?:def|class) {}\b.*(?:\n(?![\w@]).*)*"
"""Pattern of the definition of a name: its first line, and all lines up to the next statement."""
_LEFT_OUT = r'""".*?"""|#[^\n]*|\s+'
"""Pattern of what does not tell code from the starter: docstrings, comments, and layout."""
_WIDE = 72
"""Maximum number of characters of the instructions in a line of the check."""
_LINE = 76
"""Maximum number of characters of a literal on one line."""


def check_of(keys: Mapping[str, Key], about: Sequence[str]) -> dict[str, object]:
    """Returns the values for the template of the check; nothing secret.

    *keys* are by the names of their answers; *about* identifies the exam, release, and student.
    """
    forms = {name: _reading_form(key) for name, key in keys.items()}
    asked = {key.part.kind for key in keys.values()}
    return {
        "about": repr(tuple(about)),
        "lines": [_format_line(name, key) for name, key in keys.items()],
        "forms": [(name, form) for name, form in forms.items() if form is not None],
        "readers": {kind: reader for kind, reader in _READERS.items() if kind in asked},
        "units": _units(frozenset(unit for key in keys.values() for unit in _units_asked(key))),
        "notation": notation,
        "lettered": lettered,
        "nothing": multi_choice.NONE,
        "pair": matching.PAIR,
        "words": tuple(WORDS),
        "definition": _DEFINITION,
        "left_out": _LEFT_OUT,
        "reasons": any(isinstance(key, TrueFalseKey) and key.choices for key in keys.values()),
        "truth": PAIR,
        "most": {
            "text": notation.LONGEST_TEXT,
            "digits": scalars.MAX_DIGITS,
            "unit": parse.MAX_LENGTH,
            "short_text": short_text.MAX_LENGTH,
            "words": explanation.FEWEST_WORDS,
        },
    }


def _format_line(name: str, key: Key) -> str:
    """Returns an answer's name, form, and instructions as a line of Python source."""
    kind = kinds.find(key.part.kind)
    # The rule for partial credit follows a semicolon and is shown only in the answer's cell.
    asked = kind.instructions(key).split(";")[0]
    if len(asked) > _WIDE:
        asked = shorten(asked, _WIDE, placeholder=" …")
    form = _starter_checksum(name, key) if isinstance(key, CodeKey) else brief(key)
    return repr((name, f"{key.part.kind} {form}".strip(), asked))


def _starter_checksum(name: str, key: CodeKey) -> str:
    """Returns the checksum by which the check recognizes a definition that is still the starter."""
    definition = re.findall(_DEFINITION.format(name), code_cell(name, key), re.M)[0]
    text = re.sub(_LEFT_OUT, "", definition, flags=re.S)
    return f"{zlib.crc32(text.encode()):08x}"


def brief(key: Key) -> str:
    """Returns the unit, the range of letters, or the size of an answer, for the check."""
    match key:
        case NumericKey():
            return key.unit
        case TableKey():
            return f"{len(key.rows)} x {len(key.titles)}"
        case MatchingKey():
            return f"{len(key.items)} of {lettered.letter_range(key.choices)}"
        case ShortTextKey() | ExplanationKey():
            return "text"
    choices = getattr(key, "choices", ())
    return lettered.letter_range(choices) if choices else ""


def _reading_form(key: Key) -> object:
    """Returns what else the check must know to read an answer, as plain data; None for nothing."""
    if isinstance(key, TableKey):
        return {"rows": [*map(fold_label, key.rows)], "columns": [*key.units]}
    if isinstance(key, PlanKey):
        return {name: [*offered] for name, offered in key.part.choose.items()}
    texts = [lettered.fold_text(choice.text) for choice in getattr(key, "choices", ())]
    return texts or list(modules_needed(key)) or None


def wrap_literal(value: object, spaces: int = 4) -> str:
    """Returns *value* as Python source; a long one on several lines, indented by *spaces*.

    >>> wrap_literal("a b", 8), wrap_literal(("x", 1))
    ("'a b'", "('x', 1)")
    """
    written = repr(value)
    return written if len(written) <= _LINE else _wrap_long(written, spaces)


@lru_cache(maxsize=1024)
def _wrap_long(written: str, spaces: int) -> str:
    """Returns the source *written* of a literal on several lines."""
    value = ast.literal_eval(written)
    written = pprint.pformat(value, width=_LINE, compact=True, sort_dicts=False)
    if isinstance(value, str):
        pieces = wrap(
            value, _LINE, drop_whitespace=False, replace_whitespace=False, break_on_hyphens=False
        )
        written = "(\n" + indent("\n".join(map(repr, pieces)), "    ") + "\n)"
    return indent(written, " " * spaces).lstrip()


@lru_cache(maxsize=256)
def _units(asked: frozenset[str]) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Returns each dimension with all units that a unit in *asked* may be composed of."""
    dimensions = [units.parse_unit(unit).dimension for unit in asked]
    if units.parse_unit("J").dimension in dimensions:
        dimensions.append(units.parse_unit("W").dimension)  # energy may be written as "kW h"
    used = {at for dimension in dimensions for at, power in enumerate(dimension) if power}
    names_by_dimension = group_by_key(
        (measure.dimension, name)
        for name, measure in table.SYMBOLS.items()
        if used.issuperset(at for at, power in enumerate(measure.dimension) if power)
    )
    return tuple((dimension, " ".join(names)) for dimension, names in names_by_dimension.items())


def _units_asked(key: Key) -> Iterator[str]:
    """Yields the units of the numbers in an answer."""
    sheet = kinds.find(key.part.kind).sheet(key) if key.part.kind in _READERS else {}
    columns = sheet.get("columns", ())
    if isinstance(sheet.get("unit"), str):
        yield str(sheet["unit"])
    if isinstance(columns, list):
        yield from (str(unit) for _, unit in columns)


def owner_fields(student: Student) -> tuple[str, ...]:
    """Returns the fields that tell in the check whose notebook it is.

    For a student, this is the id. For a version, it is the printed name of the version and then the
    version itself, which the grader reads back.

    >>> owner_fields(Student(id="ada")), owner_fields(Student(id="ada", version="B"))
    (('ada',), ('version B', 'B'))
    """
    if student.version == SAMPLE:
        return f"practice ({SAMPLE}, not graded)", SAMPLE
    if student.version:
        return f"version {student.version}", student.version
    return (student.id,)
