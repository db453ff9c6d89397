"""A notebook's self-description: its student, exam, and release, and how to read each answer."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from grader.notebook import Notebook

Sheet = Mapping[str, object]

_ASSIGNED = re.compile(r"^(q\d+_[a-z][a-z0-9_]*)\s*=", re.M)
_CALL = re.compile(r"^_public_check\($(.*?)^\)", re.M | re.S)
_LINE = re.compile(r"^ {4}(\(.{1,2000}\)),$", re.M)
_EXAMPLE = re.compile(r"^print\((.*?)\)\n# expected: ([^\n]*)$", re.M | re.S)
_CALLED = "_public_check("
_LONGEST = 2_100
"""Maximum length of a line of the public check, in characters."""
_MOST = 2_000
"""Maximum number of lines of the public check to read."""


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
    return _describe_from_metadata(notebook.metadata.get("grader")) or _describe_from_code(notebook)


def read_owner(notebook: Notebook) -> SelfDescription:
    """Returns the self-description of *notebook* without its answers.

    Reads at most one line of each cell, so that it is fast for any notebook.
    """
    found = notebook.metadata.get("grader")
    if isinstance(found, Mapping) and (found.get("student") or found.get("version")):
        return _describe_notebook(found, {})
    for cell in reversed(notebook.cells):
        if cell.type == "code" and (line := _first_line(cell.source)):
            return _parse_header(line, {})
    return SelfDescription()


def _first_line(source: str) -> tuple[str, ...]:
    """Returns the first argument of the last call of the public check in *source*."""
    _, call, rest = source.replace("\r\n", "\n").rpartition(f"\n{_CALLED}\n")
    written = _LINE.fullmatch(rest[:_LONGEST].partition("\n")[0]) if call else None
    return _parse_texts(written[1]) if written else ()


def _describe_from_metadata(found: object) -> SelfDescription | None:
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
    return _describe_notebook(found, sheets)


def _describe_notebook(
    found: Mapping[object, object], sheets: Mapping[str, Sheet | None]
) -> SelfDescription:
    given = (found.get(name) for name in ("set", "release", "student", "version"))
    # Other values are not converted to text, because they may be nested deeply.
    exam, release, student, version = (text if isinstance(text, str) else "" for text in given)
    return SelfDescription(
        exam=exam, release=release, student=student, version=version, sheets=sheets
    )


def _describe_from_code(notebook: Notebook) -> SelfDescription:
    sources = [c.source.replace("\r\n", "\n") for c in notebook.cells if c.type == "code"]
    first, *others = next(
        (found for s in reversed(sources) if (found := _read_check_lines(s))), [()]
    )
    sheets: dict[str, Sheet | None] = {}
    for line in others:
        if len(line) == 3:
            sheets[line[0]] = _make_sheet(*line, sources)
    if not sheets:
        sheets = dict.fromkeys(_ASSIGNED.findall("\n".join(sources)))
    return _parse_header(first, sheets)


def _parse_header(first: tuple[str, ...], sheets: Mapping[str, Sheet | None]) -> SelfDescription:
    """Returns the description in the first argument of the public check."""
    if len(first) == 4:  # the third is for people: "version A"
        return SelfDescription(exam=first[0], release=first[1], version=first[3], sheets=sheets)
    exam, release, student = first if len(first) == 3 else ("", "", "")
    return SelfDescription(exam=exam, release=release, student=student, sheets=sheets)


def _read_check_lines(source: str) -> list[tuple[str, ...]]:
    """Returns the arguments of the public check in *source*; empty if it is not called."""
    call = _CALL.search(source)
    written = _LINE.findall(call[1])[:_MOST] if call else []
    return [line for line in map(_parse_texts, written) if line]


def _parse_texts(written: str) -> tuple[str, ...]:
    """Returns the texts in the source of a tuple; empty if it contains anything else.

    The source is parsed and never evaluated, because students may have changed it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escape sequences
            found = ast.parse(written, mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    parts = found.elts if isinstance(found, ast.Tuple) else []
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if len(texts) == len(parts) else ()


def _make_sheet(name: str, form: str, how: str, sources: list[str]) -> Sheet:
    """Returns what a line tells of the answer's sheet; a kind may find it incomplete."""
    kind, _, brief = form.partition(" ")
    sheet: dict[str, object] = {"name": name, "kind": kind, "how": how, "unit": brief}
    if kind in ("code", "measurement"):
        examples = [list(pair) for pair in _find_examples(name, sources)]
        sheet |= {"part": name, "starter": "", "examples": examples, "closeness": {}, "seconds": 20}
    return sheet


def _find_examples(name: str, sources: list[str]) -> Iterator[tuple[str, str]]:
    """Yields the visible examples from the cell that prints them."""
    for source in sources:
        pairs = _EXAMPLE.findall(source)
        if pairs and all(re.search(rf"\b{re.escape(name)}\b", call) for call, _ in pairs):
            yield from pairs
