"""A notebook's self-description: its student, exam, and release, and how to read each answer."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.notebook import Notebook

Sheet = Mapping[str, object]

_ASSIGNED = re.compile(r"^(q\d+_[a-z][a-z0-9_]*)\s*=", re.M)
_EXAMPLE = re.compile(
    r"^found = (.*?)\nexpected = ([^\n]*)\nprint\(compare\(found, expected[^\n]*\)\)$",
    re.M | re.S,
)
_EXAMPLE_BEFORE = re.compile(r"^print\((.*?)\)\n# expected: ([^\n]*)$", re.M | re.S)
"""As notebooks of earlier versions have them."""
_LONGEST_LINE = 2_100
"""Maximum length of the first argument of the public check to read, in characters."""
_LONGEST = 500_000
"""Maximum length of all arguments together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfDescription:
    """A notebook's self-description. Students can change it, so no points depend on it."""

    exam: str = ""
    release: str = ""
    student: str = ""
    version: str = ""
    """The version of a notebook that several students share; it names no student."""
    sheets: Mapping[str, Sheet | None] = field(default_factory=dict)
    """Sheets by answer, in the notebook's order; None if only the name is known."""


def read_description(notebook: Notebook) -> SelfDescription:
    """Returns the self-description of *notebook*, from its metadata or, without that, its code.

    The last cell repeats the kinds and units, so that a check after Colab still shows "read as
    28 GB". Without that cell, only the names of the answers are known.
    """
    description = notebook.metadata.get("grader")
    listed = description.get("answers") if isinstance(description, Mapping) else None
    sheets: dict[str, Sheet | None] = {
        entry["name"]: entry
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
    }
    if sheets and isinstance(description, Mapping):
        return _read_metadata(description, sheets)
    sources = [c.source.replace("\r\n", "\n") for c in notebook.cells if c.type == "code"]
    found_lines = (_read_public_check(source) for source in reversed(sources))
    first, *others = next(filter(None, found_lines), [()])
    sheets = {line[0]: _make_sheet(*line, sources) for line in others if len(line) == 3}
    if not sheets:
        sheets = dict.fromkeys(_ASSIGNED.findall("\n".join(sources)))
    return _parse_header(first, sheets)


def read_owner(notebook: Notebook) -> SelfDescription:
    """Returns the self-description of *notebook* without its answers.

    Reads at most one line of each cell, so that it is fast for any notebook.
    """
    description = notebook.metadata.get("grader")
    if isinstance(description, Mapping) and (
        description.get("student") or description.get("version")
    ):
        return _read_metadata(description, {})
    for cell in reversed(notebook.cells):
        source = cell.source.replace("\r\n", "\n")
        if cell.type == "code" and (lines := _read_public_check(source, only_first=True)):
            return _parse_header(lines[0], {})
    return SelfDescription()


def _read_metadata(
    description: Mapping[object, object], sheets: Mapping[str, Sheet | None]
) -> SelfDescription:
    """Returns the description in the metadata of a notebook; fields without text are empty."""
    values = (description.get(name) for name in ("set", "release", "student", "version"))
    # Other values are not converted to text, because they may be nested deeply.
    exam, release, student, version = (text if isinstance(text, str) else "" for text in values)
    return SelfDescription(
        exam=exam, release=release, student=student, version=version, sheets=sheets
    )


def _parse_header(first: tuple[str, ...], sheets: Mapping[str, Sheet | None]) -> SelfDescription:
    """Returns the description in the first argument of the public check."""
    if len(first) == 4:  # the third is for people: "version A"
        return SelfDescription(exam=first[0], release=first[1], version=first[3], sheets=sheets)
    exam, release, student = first if len(first) == 3 else ("", "", "")
    return SelfDescription(exam=exam, release=release, student=student, sheets=sheets)


def _read_public_check(source: str, *, only_first: bool = False) -> list[tuple[str, ...]]:
    """Returns the arguments of the last call of the public check that are tuples of texts.

    They are parsed and never evaluated, because students may have changed them.
    """
    _, call, rest = source.rpartition("\n_public_check(\n")
    written = rest.partition("\n")[0] if only_first else rest.partition("\n)")[0]
    if not call or len(written) > (_LONGEST_LINE if only_first else _LONGEST):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escape sequences
            expression = ast.parse(f"_(\n{written}\n)", mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    lines = expression.args if isinstance(expression, ast.Call) else []
    return [texts for line in lines if (texts := _read_texts(line))]


def _read_texts(line: ast.expr) -> tuple[str, ...]:
    """Returns the texts in a tuple; empty if it contains anything else."""
    parts = line.elts if isinstance(line, ast.Tuple) else []
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if len(texts) == len(parts) else ()


def _make_sheet(name: str, form: str, how: str, sources: list[str]) -> Sheet:
    """Returns what a line tells of the answer's sheet; a kind may find it incomplete."""
    kind, _, brief = form.partition(" ")
    sheet: dict[str, object] = {"name": name, "kind": kind, "how": how, "unit": brief}
    if kind not in ("code", "measurement"):
        return sheet
    # The visible examples are in the cell that prints them.
    examples_by_cell = [
        pairs
        for source in sources
        if (pairs := _EXAMPLE.findall(source) or _EXAMPLE_BEFORE.findall(source))
    ]
    word = re.compile(rf"\b{re.escape(name)}\b")
    mine = [pairs for pairs in examples_by_cell if all(word.search(call) for call, _ in pairs)]
    examples = [list(pair) for pairs in mine for pair in pairs]
    return sheet | {
        "part": name, "starter": "", "examples": examples, "closeness": {}, "seconds": 20,
    }  # fmt: skip
