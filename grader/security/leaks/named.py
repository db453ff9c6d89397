"""Finds values beside the name of an answer, and judges them like a student's answer."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

from grader.kinds import kinds
from grader.model import Raw
from grader.security.leaks.numerals import FEWEST_DIGITS, bits, significant
from grader.security.leaks.secrets import Named, Wanted
from grader.wire import probe

_NAME = re.compile(r"q\d+_[a-z][a-z0-9_]*")
_LABEL = re.compile(
    r"(?<![\w.])(?:(?:q(?:uestion)?|problem|part|no\.?|#)\s*+)?(\d{1,3})\s*+(?:[.(/-]\s*+)?"
    r"([a-z])\s*\)?(?![a-z_0-9])",
    re.I,
)
_WORD = re.compile(r"(?<![\w.])[a-z][a-z0-9_]{2,}(?!\w)")
_SAYS = r"(?:value|answer|key|correct|right|expected|solution|literal|result|truth)s?"
_STRONG = re.compile(
    rf"""["'`*)\]]*\s*(?:[\[{{(]\s*)?(?:["']?{_SAYS}["']?)?\s*
    (?::=|={{1,3}}|:|=>|->|→|⇒|≈|~|\bis\b|\babout\b|\bequals\b|\bshould\ be\b|\bmust\ be\b)\s*
    (?:["']?{_SAYS}["']?\s*[:=]+\s*)?""",
    re.X | re.I,
)
_WEAK = re.compile(
    r"""["'`*)\]>]*\s*(?:[,|;\t]|</t[dh]>\s*<t[dh]>|[ ]+|_(?=\d|[A-Z]\b)|-(?=\d))\s*"""
)
_LATER = re.compile(rf"""\b{_SAYS}["']?\s*(?::|={{1,2}}|>)\s*""", re.I)
_ANSWER = re.compile(r"\b(?:answers?|solutions?|key|correct|right)\b", re.I)
_WINDOW = 240

_VALUE = re.compile(
    r"""(?P<quoted>(["'`])(?P<inner>[^\n]{1,300}?)\2)
    |(?P<open>[\[{(])
    |(?P<number>[-+]?(?:\d[\d_,]{0,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][-+]?\d{1,4})?
      (?:[ \t]?[A-Za-zµμ%][A-Za-zµμ/%^0-9]{0,15})?)
    |(?P<word>True|False|true|false|yes|no|Yes|No
      |[A-Z](?:[ ]?[,;&+]?[ ]?(?:and\ )?[A-Z]){0,9}(?!\w))
    |(?P<text>[A-Za-z][\w -]{2,60})
    """,
    re.X,
)
_MOST_JUDGED = 50_000


@dataclass(frozen=True, slots=True)
class Pair:
    """The name of an answer with the value beside it."""

    name: str
    value: str
    at: int
    strong: bool
    """Whether the text assigns the value to the name, rather than just placing it beside."""
    alias: bool = False
    """Whether the text uses an alias of the name."""


def pairs(text: str, wanted: Wanted, *, is_name: bool = False) -> Iterator[Pair]:
    """Every name or alias of an answer in *text*, with the value beside it."""
    yield from beside(text, wanted.named, is_name=is_name)
    yield from _in_columns(text, wanted)
    yield from _by_alias(text, wanted)


def beside(text: str, names: Container[str], *, is_name: bool = False) -> Iterator[Pair]:
    """Every occurrence of one of *names* in *text*, with the value beside it."""
    places = [(f.start(), *known) for f in _NAME.finditer(text) if (known := _known(f[0], names))]
    for index, (start, name, length) in enumerate(places):
        end = places[index + 1][0] if index + 1 < len(places) else len(text)
        yield from _beside(text, name, start, start + length, min(end, start + _WINDOW), is_name)


def _known(written: str, names: Container[str]) -> tuple[str, int] | None:
    """The answer's name with which *written* begins, and its length; None if there is none."""
    while written:
        if written in names:
            return written, len(written)
        written = written.rpartition("_")[0]
    return None


def _beside(
    text: str, name: str, start: int, after: int, end: int, is_name: bool
) -> Iterator[Pair]:
    strong = _STRONG.match(text, after, end + 80)
    weak = None if strong else _WEAK.match(text, after, end + 80)
    found = strong or weak
    if found is not None:
        value = _value(text, found.end())
        if value:
            yield Pair(name, value, start, strong is not None or is_name)
    for said in _LATER.finditer(text, after, end):
        if found is None or said.end() != found.end():
            value = _value(text, said.end())
            if value:
                yield Pair(name, value, start, True)


def _value(text: str, at: int) -> str:
    found = _VALUE.match(text, at, at + 400)
    if found is None:
        return ""
    if found["open"]:
        return _bracketed(text, at)
    return found[0].strip()


def _bracketed(text: str, at: int) -> str:
    depth = 0
    for place in range(at, min(len(text), at + 800)):
        depth += (text[place] in "[{(") - (text[place] in ")}]")
        if depth == 0:
            return text[at : place + 1]
    return ""


_SEPARATORS = re.compile(r"[,;\t|]")


def _in_columns(text: str, wanted: Wanted) -> Iterator[Pair]:
    """Names in one line with their values below them, as in a table."""
    at = 0
    columns: tuple[str, list[str]] | None = None
    for line in text.splitlines(keepends=True):
        cells = _SEPARATORS.split(line)
        names = [c.strip(" \"'`*\r\n") for c in cells]
        if sum(n in wanted.named for n in names) >= 2:
            columns = (line, names)
        elif columns is not None and len(cells) == len(columns[1]) and len(line) < 20_000:
            for name, cell in zip(columns[1], cells, strict=True):
                if name in wanted.named and (value := _value(cell.strip(), 0)):
                    yield Pair(name, value, at, False)
        elif line.strip(" -|:+=\r\n"):
            columns = None
        at += len(line)


def _by_alias(text: str, wanted: Wanted) -> Iterator[Pair]:
    """Answers called `3b`, `Question 3 (b)`, or by the part's id alone."""
    for found in _LABEL.finditer(text):
        name = wanted.aliases.get(f"{found[1]}{found[2].lower()}")
        if name:
            yield from _as_alias(text, name, found)
    for found in _WORD.finditer(text):
        name = wanted.aliases.get(found[0])
        if name and name in wanted.named:
            yield from _as_alias(text, name, found)


def _as_alias(text: str, name: str, found: re.Match[str]) -> Iterator[Pair]:
    strong = _STRONG.match(text, found.end(), found.end() + 60)
    said = strong or _WEAK.match(text, found.end(), found.end() + 12)
    if said is not None:
        value = _value(text, said.end())
        if value:
            # "The answer to question 3 (b) is B" reveals as much as the name would.
            before = text[max(0, found.start() - 60) : found.start()].rpartition("\n")[2]
            plain = strong is not None and _ANSWER.search(before) is not None
            yield Pair(name, value, found.start(), plain, alias=not plain)


class Judge:
    """Determines for which students a value would earn full marks."""

    def __init__(self, wanted: Wanted):
        self._wanted = wanted
        self._known: dict[tuple[str, str], tuple[frozenset[str], bool]] = {}

    def right_for(self, pair: Pair) -> frozenset[str]:
        """The students for whom the value is right; none if it can't be read as an answer."""
        return self._of(pair)[0]

    def is_readable(self, pair: Pair) -> bool:
        """Whether the value can be read as an answer."""
        return self._of(pair)[1]

    def _of(self, pair: Pair) -> tuple[frozenset[str], bool]:
        which = (pair.name, pair.value)
        if which not in self._known:
            if len(self._known) > _MOST_JUDGED:
                self._known.clear()
            self._known[which] = self._judged(*which)
        return self._known[which]

    def _judged(self, name: str, value: str) -> tuple[frozenset[str], bool]:
        right: set[str] = set()
        readable = False
        for raw in _raws(value):
            for one in self._wanted.named[name]:
                verdict = _share(raw, one)
                readable |= verdict is not None
                if verdict is not None and verdict >= 0.999:
                    right |= one.students
        return frozenset(right), readable

    def points_of(self, pair: Pair) -> float:
        """The points of the answer, which are often written beside its name."""
        return self._wanted.named[pair.name][0].points


def _share(raw: Raw, one: Named) -> float | None:
    kind = kinds.find(one.key.part.kind)
    if kind.needs_solution:
        return None  # code is recognized by its words instead
    try:
        return kind.judge(kind.read(raw, one.key), one.key).share
    except Exception:  # noqa: BLE001 - any text at all comes here, and most of it is no answer
        return None


@lru_cache(maxsize=10_000)
def _raws(value: str) -> tuple[Raw, ...]:
    """The values that a student who wrote *value* may have meant."""
    meant: list[object] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about texts that look like numbers at first
            meant.append(ast.literal_eval(value))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, OverflowError):
        bare = value.strip("\"'`[]{}() ")
        if bare.lower() in ("true", "false"):
            meant.append(bare.lower() == "true")
        meant.append(bare)
        if re.fullmatch(r"[A-Z](?:[ ,;&+]|and)+.*", bare):
            meant.append(re.findall(r"\b[A-Z]\b", bare))
        number = re.match(r"[-+]?[\d_,]*\.?\d+(?:[eE][-+]?\d+)?", bare)
        if number and number[0] != bare:
            meant += _number(number[0])
    for one in list(meant):
        if isinstance(one, str) and one[:1].isdigit():
            meant += _number(one)
    return tuple(probe.encode(one) for one in meant)


def _number(written: str) -> list[object]:
    try:
        return [float(written.replace(",", "").replace("_", ""))]
    except ValueError:
        return []


def is_weighty(value: str) -> bool:
    """Whether a value is too long to be a coincidence."""
    digits = significant(value) if value[:1] in "-+.0123456789" else ""
    return len(digits) >= FEWEST_DIGITS and bits(digits) >= 8
