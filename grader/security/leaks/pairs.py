"""Finds values beside the name of an answer, and judges them like a student's answer."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

from grader.kinds import kinds
from grader.model import Key, Raw
from grader.security.leaks.numbers import FEWEST_DIGITS, significant_digits, surprise_bits
from grader.wire import encoding

_NAME = re.compile(r"q\d+_[a-z][a-z0-9_]*")
_SAYS = r"(?:value|answer|key|correct|right|expected|solution|literal|result|truth)s?"
_STRONG = re.compile(
    rf"""\\?["'`*)\]]*\s*(?:[\[{{(]\s*)?(?:["']?{_SAYS}["']?)?\s*
    (?::=|={{1,3}}|:|=>|->|→|⇒|≈|~|\bis\b|\babout\b|\bequals\b|\bshould\ be\b|\bmust\ be\b)\s*
    (?:["']?{_SAYS}["']?\s*[:=]+\s*)?""",
    re.X | re.I,
)
_WEAK = re.compile(
    r"""["'`*)\]>]*\s*(?:[,|;\t]|</t[dh]>\s*<t[dh]>|[ ]+|_(?=\d|[A-Z]\b)|-(?=\d))\s*"""
)
_LATER = re.compile(rf"""\b{_SAYS}["']?\s*(?::|={{1,2}}|>)\s*""", re.I)
_WINDOW = 240
"""Characters after a name in which `"value": …` still belongs to it."""
_VALUE = re.compile(
    r"""(?P<quoted>(\\?["'`])(?P<inner>[^\n]{1,300}?)\2)
    |(?P<list>\[[^\]\n]{0,400}\]|\{[^}\n]{0,400}\}|\([^)\n]{0,400}\))
    |(?P<number>[-+]?(?:\d[\d_,]{0,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][-+]?\d{1,4})?
      (?:[ \t]?[A-Za-zµμ%][A-Za-zµμ/%^0-9]{0,15})?)
    |(?P<word>True|False|true|false|yes|no|Yes|No
      |[A-Z](?:[ ]?[,;&+]?[ ]?(?:and\ )?[A-Z]){0,9}(?!\w))
    |(?P<text>[A-Za-z][\w -]{2,60})
    """,
    re.X,
)
_SEPARATORS = re.compile(r"[,;\t|]")


@dataclass(frozen=True, slots=True)
class Pair:
    """The name of an answer with the value beside it."""

    name: str
    value: str
    at: int
    strong: bool
    """Whether the text assigns the value to the name, rather than just placing it beside."""

    @property
    def is_number(self) -> bool:
        """Whether the value begins like a number."""
        return self.value.lstrip("\\\"'`")[:1] in set("+-.0123456789")

    @property
    def is_weighty(self) -> bool:
        """Whether the value is too long to be a coincidence."""
        digits = significant_digits(self.value) if self.value[:1] in "-+.0123456789" else ""
        return len(digits) >= FEWEST_DIGITS and surprise_bits(digits) >= 8


def iter_pairs(text: str, names: Container[str], *, is_name: bool = False) -> Iterator[Pair]:
    """Yields every name of an answer in *text*, with the value beside it or below it."""
    places = [(m.start(), name) for m in _NAME.finditer(text) if (name := _match_name(m[0], names))]
    for index, (start, name) in enumerate(places):
        end = places[index + 1][0] if index + 1 < len(places) else len(text)
        yield from _pairs_beside(
            text, name, start, start + len(name), min(end, start + _WINDOW), is_name
        )
    if len(places) >= 2:
        yield from _pairs_in_columns(text, names)


def _match_name(written: str, names: Container[str]) -> str | None:
    """Returns the longest of *names* that *written* equals or continues with an underscore; None if
    there is none."""
    while written:
        if written in names:
            return written
        written = written.rpartition("_")[0]
    return None


def _pairs_beside(
    text: str, name: str, start: int, after: int, end: int, is_name: bool
) -> Iterator[Pair]:
    """Yields *name*, which ends at *after*, with the value beside it, and with labeled values
    before *end*."""
    strong = _STRONG.match(text, after, end + 80)
    separator = strong or _WEAK.match(text, after, end + 80)
    if separator and (value := _read_value(text, separator.end())):
        yield Pair(name, value, start, strong is not None or is_name)
    for label in _LATER.finditer(text, after, end):
        if (separator is None or label.end() != separator.end()) and (
            value := _read_value(text, label.end())
        ):
            yield Pair(name, value, start, True)


def _read_value(text: str, at: int) -> str:
    match = _VALUE.match(text, at, at + 420)
    return match[0].strip() if match else ""


def _pairs_in_columns(text: str, names: Container[str]) -> Iterator[Pair]:
    """Yields names in one line with their values below them, as in a table."""
    at = 0
    header: list[str] = []
    for line in text.splitlines(keepends=True):
        cells = [c.strip(" \"'`*\r\n") for c in _SEPARATORS.split(line[:20_000])]
        if sum(cell in names for cell in cells) >= 2:
            header = cells
        elif len(cells) == len(header):
            for name, cell in zip(header, cells, strict=True):
                if name in names and (value := _read_value(cell, 0)):
                    yield Pair(name, value, at, False)
        elif line.strip(" -|:+=\r\n"):
            header = []
        at += len(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedKey:
    """A key that some students share."""

    key: Key
    students: frozenset[str]
    points: float


class KeyJudge:
    """Determines for which students a value would earn full marks."""

    def __init__(self, keys: dict[str, list[NamedKey]]):
        """Takes the different keys of each answer."""
        self._keys = keys
        self._known: dict[tuple[str, str], tuple[frozenset[str], bool]] = {}

    def judge(self, pair: Pair) -> tuple[frozenset[str], bool]:
        """Returns the students for whom the value is right, and whether it can be read at all."""
        name_and_value = (pair.name, pair.value)
        if name_and_value not in self._known:
            right: set[str] = set()
            readable = False
            for raw in _possible_raws(pair.value):
                for key in self._keys[pair.name]:
                    share = _judge_raw(raw, key.key)
                    readable |= share is not None
                    if share is not None and share >= 0.999:
                        right |= key.students
            self._known[name_and_value] = frozenset(right), readable
        return self._known[name_and_value]

    def is_points(self, pair: Pair) -> bool:
        """Returns whether the value equals the points of the answer, which often are beside its
        name."""
        try:
            return float(pair.value.strip("\\\"'`")) == self._keys[pair.name][0].points
        except ValueError:
            return False


def _judge_raw(raw: Raw, key: Key) -> float | None:
    """Returns the share that *raw* earns; None for code and for what is not an answer."""
    kind = kinds.find(key.part.kind)
    if kind.needs_solution:
        return None  # code is recognized by its words instead
    try:
        return kind.judge(kind.read(raw, key), key).share
    except Exception:  # noqa: BLE001 - any text at all comes here, and most of it is not an answer
        return None


@lru_cache(maxsize=10_000)
def _possible_raws(value: str) -> tuple[Raw, ...]:
    """Returns the values that a student who wrote *value* may have meant."""
    meant: list[object] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about texts that look like numbers at first
            meant.append(ast.literal_eval(value.replace('\\"', '"')))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, OverflowError):
        bare = value.strip("\\\"'`[]{}() ")
        meant.append(bare.lower() == "true" if bare.lower() in ("true", "false") else bare)
        if re.fullmatch(r"[A-Z](?:[ ,;&+]|and)+.*", bare):
            meant.append(re.findall(r"\b[A-Z]\b", bare))
        number = re.match(r"[-+]?[\d_,]*\.?\d+(?:[eE][-+]?\d+)?", bare)
        meant += _as_numbers(number[0]) if number and number[0] != bare else []
    for value_meant in list(meant):
        if isinstance(value_meant, str) and value_meant[:1].isdigit():
            meant += _as_numbers(value_meant)
    return tuple(encoding.encode_answer(one) for one in meant)


def _as_numbers(written: str) -> list[float]:
    """Returns a list with the number in *written*, ignoring commas and underscores; an empty list
    if it is not a number."""
    try:
        return [float(written.replace(",", "").replace("_", ""))]
    except ValueError:
        return []
