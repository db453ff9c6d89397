"""Reads YAML 1.2 as plain data, with the location of every key and value."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from grader.errors import Location, SpecError

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 100_000
MAX_DIGITS = 300

# The core schema of YAML 1.2: `3e8` is a number, `no` and `12:30` are text.
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_REAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: Mapping[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    "-.inf": float("-inf"),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}

_BEFORE_COLON = "simple key"
"""What the parser says that it was reading when it did not find the colon of a key."""

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """Plain data (dict, tuple, str, int, float, bool, None) and the location of each piece."""

    file: str
    data: Any
    values: Mapping[Path_, tuple[int, int]]
    """Maps paths to the line and column of the value, from 1."""
    keys: Mapping[Path_, tuple[int, int]]
    """Maps paths to the line and column of the key, from 1."""
    blocks: Collection[Path_] = ()
    """The paths of texts after '|', whose lines are lines of the file."""

    def at(self, path: Path_, *, key: bool = False) -> Location:
        """Returns the location of *path*, or of the nearest enclosing piece that the file has."""
        nearest_path = tuple(path)
        while nearest_path:
            for places in (self.keys, self.values) if key else (self.values, self.keys):
                if nearest_path in places:
                    return Location(self.file, *places[nearest_path])
            nearest_path = nearest_path[:-1]
        return Location(self.file, *self.values.get((), (1, 1)))

    def at_line(self, path: Path_, line: int) -> Location:
        """Returns the location of a line, from 1, of the text at *path*, as far as it is known."""
        if path not in self.blocks:
            return self.at(path)
        return Location(self.file, self.values[path][0] + line)

    def error(self, path: Path_, what: str, fix: str | None, *, key: bool = False) -> SpecError:
        """Returns the error for the piece at *path*; *fix* says what to do."""
        return SpecError(what, where=self.at(path, key=key), fix=fix)


def scalar(text: str) -> object:
    """Returns the value of a plain scalar in YAML 1.2.

    >>> scalar("3e8"), scalar("no"), scalar("12:30")
    (300000000.0, 'no', '12:30')
    """
    if text in _WORDS:
        return _WORDS[text]
    # A whole number too large for a float is infinite, like 1e999.
    if _INTEGER.match(text):
        return int(text) if len(text) <= MAX_DIGITS else float("-inf" if text[0] == "-" else "inf")
    if _BASED.match(text):
        return int(text, 0) if len(text) <= MAX_DIGITS // 2 else float("inf")
    if _REAL.match(text):
        return float(text)
    return text


def with_tuples(data: Any) -> Any:
    """Returns *data* with lists as tuples, as this reader returns them."""
    if isinstance(data, dict):
        return {key: with_tuples(value) for key, value in data.items()}
    return tuple(map(with_tuples, data)) if isinstance(data, list) else data


def read_yaml(path: Path) -> Located:
    """Returns the data of the YAML file at *path*; raises SpecError with file, line, and column."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise SpecError(
                f"the file has {size:,} bytes, more than {MAX_BYTES:,}",
                where=Location(str(path)),
                fix="split it into several files",
            )
        raw = path.read_bytes()
    except OSError as error:
        raise SpecError(
            f"can't read the file: {(error.strerror or '').lower()}",
            where=Location(str(path)),
            fix="check the path and its permissions",
        ) from None
    return parse_yaml(raw, str(path))


def parse_yaml(raw: bytes, file: str) -> Located:
    """Returns the data of YAML text; raises SpecError with file, line, and column."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SpecError(
            f"the byte 0x{raw[error.start]:02x} is not UTF-8",
            where=Location(file, line),
            fix="save the file as UTF-8",
        ) from None
    try:
        return _Builder(text, file).build()
    except yaml.MarkedYAMLError as error:
        # The parser notices only at the next key that the colon of a key is missing.
        is_late = _BEFORE_COLON in (error.context or "")
        mark = (not is_late and error.problem_mark) or error.context_mark
        problem = error.problem or error.context or ""
        # Some versions of the parser refuse deep nesting before they return its first event.
        deep = "nesting depth" in problem
        raise SpecError(
            f"nested more than {MAX_DEPTH} deep" if deep else f"not YAML: {problem}",
            where=Location(file, mark.line + 1, mark.column + 1) if mark else Location(file),
            fix="flatten it" if deep else _suggest_fix(error, _line_of(text, mark)),
        ) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise SpecError(
            "the text contains a control character", where=Location(file, line), fix="remove it"
        ) from None
    except yaml.YAMLError as error:
        raise SpecError(f"not YAML: {error}", where=Location(file), fix="check the file") from None


def _line_of(text: str, mark: Any) -> str:
    lines = text.splitlines()
    return lines[mark.line] if mark and mark.line < len(lines) else ""


def _suggest_fix(error: yaml.MarkedYAMLError, line: str) -> str:
    """Returns what to do about *error*, which the parser found in *line*."""
    problem, context = error.problem or "", error.context or ""
    first = error.context_mark.line + 1 if error.context_mark else 0
    is_indented_by_tab = "\t" in line[: len(line) - len(line.lstrip())]
    is_conflict = line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
    fixes = {
        "indent with spaces, not with tabs": "\\t" in problem
        or "tab" in problem
        or is_indented_by_tab,
        "replace the no-break spaces of this line with spaces": "\u00a0" in line,
        "resolve the merge conflict, and remove its markers": is_conflict,
        "write 'key: value', with a space after the colon": _BEFORE_COLON in context,
        f"close the quote opened in line {first}, and put text with backslashes in single quotes": (
            "quoted scalar" in context
        ),
        f"close the bracket opened in line {first}, and put commas between its items": (
            "flow" in context
        ),
        "put text that contains ': ' in quotes, and check the indentation": (
            "mapping values are not allowed" in problem
        ),
        "check the indentation, and put text that starts with a quote or brace in quotes": (
            "expected <block end>" in problem or "did not find expected" in problem
        ),
    }
    otherwise = "put text with special characters in quotes, or write it as a block after '|'"
    return next((fix for fix, applies in fixes.items() if applies), otherwise)


def _line_and_column(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


class _Builder:
    """Builds data from the parser's events, within limits on depth and size."""

    def __init__(self, text: str, file: str):
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events = yaml.parse(text, Loader=loader)
        self._file = file
        self._values: dict[Path_, tuple[int, int]] = {}
        self._keys: dict[Path_, tuple[int, int]] = {}
        self._blocks: set[Path_] = set()
        self._nodes = 0

    def build(self) -> Located:
        """Returns the only document. Raises SpecError for a second one, or beyond a limit."""
        data = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if self._nodes:
                    fix = "keep only one document per file"
                    self._refuse("a second document starts here", event, fix)
                data = self._build_node(next(self._events), ())
        return Located(self._file, data, self._values, self._keys, self._blocks)

    def _refuse(self, what: str, event: yaml.Event, fix: str) -> NoReturn:
        raise SpecError(what, where=Location(self._file, *_line_and_column(event)), fix=fix)

    def _build_node(self, event: yaml.Event, path: Path_) -> object:
        """Returns the value at *path*, which begins with *event*; reads all its events."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._refuse(f"more than {MAX_NODES:,} values in one file", event, "split the file")
        if len(path) > MAX_DEPTH:
            self._refuse(f"nested more than {MAX_DEPTH} deep", event, "flatten it")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            self._refuse(
                "anchors and aliases (& and *) are not supported", event, "write it out in full"
            )
        tag = getattr(event, "tag", None)
        if tag and tag != "!":
            self._refuse(f"unknown tag '{tag}'", event, "remove it; put text in quotes instead")
        self._values[path] = _line_and_column(event)
        if isinstance(event, yaml.ScalarEvent):
            if event.style == "|":
                self._blocks.add(path)
            plain = event.style in (None, "") and not tag
            return scalar(event.value) if plain else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._build_sequence(path)
        return self._build_mapping(path)

    def _build_sequence(self, path: Path_) -> tuple[object, ...]:
        """Returns the items of the list at *path*, up to its end event."""
        items: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._build_node(event, (*path, len(items))))
        return tuple(items)

    def _build_mapping(self, path: Path_) -> dict[str, object]:
        """Returns the entries of the mapping at *path*, up to its end event."""
        entries: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                fix = "write it as a single word or in quotes; quote a text that starts with {{"
                self._refuse("a key must be text", event, fix)
            # Keys are always text: `1:` is the key "1", and `no:` is "no".
            key: str = event.value
            if key in entries:
                self._refuse(f"duplicate key '{key}'", event, "keep one of them")
            self._keys[(*path, key)] = _line_and_column(event)
            entries[key] = self._build_node(next(self._events), (*path, key))
        return entries
