"""Finds wording in a problem's texts that the style guide advises against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from grader.bank.folders import Bank
from grader.bank.yaml12 import Located, Path_
from grader.verify.case import Finding

TEXT_FIELDS = frozenset(
    ["title", "prompt", "assumptions", "ask", "text", "feedback", "explanation", "label", "labels"]
)
"""Fields of a spec that students read."""

_STEMS = (
    "character|category|container|digit|emphas|equal|factor|final|general|initial|local|material"
    "|maxim|memor|minim|neutral|normal|optim|organ|parallel|penal|prior|quant|rand|real|recogn"
    "|regular|serial|special|stabil|standard|summar|synchron|token|util|vector|virtual|visual"
)
_ADVICE = {
    rf"\w*(?:{_STEMS})is(?:e|ed|er|ers|es|ing|ation|ations|able)": "spell it with z",
    r"\w*analys(?:e|ed|er|ing)": "analyze, analyzed, analyzer",
    r"(?:col|fav|neighb|behavi|lab)our\w*": "color, favor, neighbor, behavior, labor",
    r"(?:cent|met|fib)res?|programme|whilst|labelled|modell\w+": "center, labeled, modeling",
    r"speed-ups?": "speedup",
    r"hangs? on": "depends on",
    r"(?:of|on) (?:its|their|his|your) own": "separate, individual, custom, or what is meant",
    r"(?:held?|hold) against": "compared with",
    r"whoever|nobody|somebody": "name who it is, or say it in the passive",
    r"(?:the|a) runner": "the grader",
    r"planted|grading machine|this variant": "describe the program, not the exam",
    r"read back|widened": "dequantized",
    r"in all(?=[,.?;:]|$)": "in total",
    r"besides,": "in addition,",
    r"in the (?:first|second|third|fourth|last) (?:part|question)s?": "name it: part (b)",
    r"must do for|does for any": "must work for",
    r"times fewer": "by what factor does it decrease",
}
_CODE = re.compile(r"```.*?```|`[^`]*`|\{\{.*?\}\}|\{%.*?%\}|\$[^$]*\$", re.DOTALL)
_WHICH = re.compile(
    r"\bwhich (?:share|rate|value|speed|speedup|time|factor|percentage|fraction|part of|throughput"
    r"|bandwidth|number|amount|size|probability|gradient|learning rate|bound|efficiency)\b",
    re.IGNORECASE,
)
_LIST_KINDS = frozenset(["choice", "multi_choice", "matching", "ordering", "plan", "true_false"])


@cache
def _terms() -> list[tuple[re.Pattern[str], str]]:
    """Returns a pattern for each piece of advice, with the advice."""
    return [
        (re.compile(rf"(?<![\w-])(?:{pattern})(?!\w)", re.IGNORECASE), advice)
        for pattern, advice in _ADVICE.items()
    ]


def check_style(folders: Sequence[str], problems: Iterable[str]) -> tuple[Finding, ...]:
    """Returns the findings in the texts of *problems* of the banks in *folders*."""
    bank = Bank.open(folders)
    findings_by_problem = (
        find_wording(name, bank.locate(name)[1])
        for name in problems
        if name in bank.listed_problems
    )
    return tuple(finding for findings in findings_by_problem for finding in findings)


def find_wording(problem: str, source: Located) -> Iterator[Finding]:
    """Yields a finding for each phrase that docs/how-to/style-of-problems.md advises against."""
    for path, text, kind in _iter_texts(source.data, (), ""):
        plain = _CODE.sub(" ", text)
        for pattern, advice in _terms():
            for match in pattern.finditer(plain):
                yield _finding(problem, source, path, match[0], advice)
        if path[-1] == "ask" and kind not in _LIST_KINDS:
            for match in _WHICH.finditer(plain):
                yield _finding(problem, source, path, match[0], 'ask "what"; "which" needs a list')
    yield from _find_repetitions(problem, source)


def _find_repetitions(problem: str, source: Located) -> Iterator[Finding]:
    """Yields a finding for each parameter that is shown in both the prompt and the table of given
    values."""
    prompt = str(source.data.get("prompt", ""))
    for name, parameter in source.data.get("parameters", {}).items():
        if not isinstance(parameter, Mapping) or parameter.get("shown") is False:
            continue
        rows = parameter.get("rows")
        names = rows[0] if rows else (name,)  # all rows have the same columns
        for shown in names:
            if re.search(rf"\{{\{{\s*{re.escape(shown)}\b[^}}]*\}}\}}", prompt):
                fix = "show a value once: add 'shown: false', or remove the name from the prompt"
                yield _finding(problem, source, ("parameters", name), shown, fix)


def _iter_texts(value: object, path: Path_, kind: str) -> Iterator[tuple[Path_, str, str]]:
    """Yields path, text, and the kind of the part (or "") of each text that students read."""
    if isinstance(value, str):
        if any(name in TEXT_FIELDS for name in path):
            yield path, value, kind
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _iter_texts(entry, (*path, name), str(value.get("kind", kind)))
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _iter_texts(entry, (*path, index), kind)


def _finding(problem: str, source: Located, path: Path_, phrase: str, advice: str) -> Finding:
    where = source.at(path)
    return Finding(problem=problem, check="wording", where=where, what=f'"{phrase}"', fix=advice)
