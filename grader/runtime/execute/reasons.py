"""Explains to the student why a name was not defined, and which limit is behind an error."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.model import CellRun, Limits, Outcome

_LOOKED_AT = 200_000
"""Characters searched in a cell."""
_NAMES = 500
"""Names compared with a missing one, to suggest a typo."""


@dataclass(frozen=True, slots=True)
class CodeCell:
    """A code cell, with the number that Jupyter shows beside it after Run All."""

    number: int
    index: int
    """Counting all cells of the notebook from 0."""
    source: str


class Reasons:
    """The cells of one run and how they went, to explain why a name is missing."""

    def __init__(self, code: Sequence[CodeCell], runs: Mapping[int, CellRun], names: Sequence[str]):
        self._runs = runs
        self._asked = frozenset(names)
        self._assignments: dict[str, list[tuple[int, bool]]] = {}
        """By name: the cells that set it, and whether they do so inside a block."""
        for cell in code:
            for name, inside in iter_targets(cell.source):
                self._assignments.setdefault(name, []).append((cell.number, inside))

    def reason_for(self, name: str) -> str:
        """Returns why *name* has no value, as a sentence without a period, such as "no cell sets
        q3_x"."""
        assignments = self._assignments.get(name)
        if not assignments:
            return f"no cell sets {name}{self._suggest_name(name)}"
        numbers = [number for number, _ in assignments]
        number = next((n for n in numbers if self._runs[n].has_failed), numbers[-1])
        run, cell = self._runs[number], f"code cell {number}"
        if run.error is not None:
            return _describe_failed_cell(name, cell, run, run.error)
        if all(inside for _, inside in assignments):
            return f"{cell} sets {name} only inside a function or a branch that was not taken"
        return f"{cell} sets {name}, but {name} was no longer defined at the end of the notebook"

    def _suggest_name(self, name: str) -> str:
        """Returns "; code cell 3 sets q3_X" for a name like *name*; empty if no cell sets one."""
        candidates = [other for other in self._assignments if other not in self._asked][:_NAMES]
        matches = difflib.get_close_matches(name, candidates, n=1, cutoff=0.8)
        if not matches:
            return ""
        return f"; code cell {self._assignments[matches[0]][-1][0]} sets {matches[0]}"


def _describe_failed_cell(name: str, cell: str, run: CellRun, error: str) -> str:
    """Returns why *name* is missing: how its cell failed, by the *error* that the run recorded."""
    if re.match(r"(Syntax|Indentation|Tab)Error\b", error):
        return f"{cell} has a syntax error" + (f" at line {run.line}" if run.line else "")
    if run.outcome is Outcome.FINISHED or run.line is not None:
        return f"{cell} stopped with {error.rstrip('.')} before {name} was set"
    return f"{cell}, which sets {name}, {error}"


def iter_targets(source: str) -> Iterator[tuple[str, bool]]:
    """Yields every name that *source* seems to assign, and whether the assignment is in a block.

    This does not use `ast`, because submitted code may not be Python, may contain magic commands,
    and can make the parser warn. The time for a line is linear in its length.
    """
    depth = 0  # of brackets that are open where a line begins
    for line in source[:_LOOKED_AT].splitlines():
        bare, _, _ = line.partition("#")
        if "'" in bare or '"' in bare:  # the # may be in a string
            bare = line
        inside = bare[:1].isspace()
        if bare[:1] not in ("", " ", "\t", ")", "]", "}"):
            depth = 0  # a bracket that is still open was in a string
        is_continued = depth > 0
        depth = max(0, depth + sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}")))
        for statement in _MAGIC.sub("", bare).split(";"):
            yield from ((name, inside) for name in _NAMED.findall(statement))
            yield from ((name, inside) for name in _WALRUS.findall(statement))
            for part in _ASSIGNS.split(statement)[:-1]:
                # In an unclosed parenthesis it is a keyword argument of a call.
                if not is_continued and part.count("(") == part.count(")"):
                    yield from _iter_targets_in(part, inside)


def _iter_targets_in(part: str, inside: bool) -> Iterator[tuple[str, bool]]:
    """Yields the names on the left side of one `=`."""
    head, colon, rest = part.partition(":")
    if colon and head.strip().isidentifier() and head.strip() not in ("else", "try", "finally"):
        yield head.strip(), inside  # with an annotation
        return
    for name in _TARGET.findall(rest if colon else part):
        yield name, inside or bool(colon)


_MAGIC = re.compile(r"^%+\w+[ \t]+")
_NAMED = re.compile(r"\b(?:for|as|def|class|import) +([A-Za-z_]\w{0,80})")
_WALRUS = re.compile(r"\b([A-Za-z_]\w{0,80}) ?:=")
_ASSIGNS = re.compile(r"(?<![=!<>:])=(?!=)")
_TARGET = re.compile(r"(?<![\w.\"'\[])([A-Za-z_]\w{0,80})(?![\w.(\[\"'])")


def limit_phrases(
    limits: Limits, rlimits: Mapping[str, int], *, bounded: bool
) -> Mapping[str, str]:
    """Maps fragments of error messages to the limit that causes them.

    *bounded* says whether the total size of all files is limited; if it is not, a full disk is
    not the student's doing.
    """
    phrases = {}
    if bounded:
        text = f"limit: {_format_size(limits.scratch_bytes)} for all files"
        phrases["No space left on device"] = phrases["wrote more files"] = text
    if "RLIMIT_FSIZE" in rlimits:
        size = _format_size(rlimits["RLIMIT_FSIZE"])
        phrases["File too large"] = f"limit: {size} per file"
    if "RLIMIT_NOFILE" in rlimits:
        files = rlimits["RLIMIT_NOFILE"]
        phrases["Too many open files"] = f"limit: {files} open files"
    text = f"limit: {limits.processes} processes and threads"
    phrases["started more processes"] = phrases["could not start more processes"] = text
    if "RLIMIT_NPROC" in rlimits:
        phrases["Resource temporarily unavailable"] = phrases["can't start new thread"] = text
    return phrases


def _format_size(size: int) -> str:
    """Returns bytes in the unit in which the limit was probably set."""
    if size % 2**30 == 0:
        return f"{size / 2**30:g} GiB"
    return f"{size / 1e9:g} GB" if size >= 10**8 else f"{size / 1e6:g} MB"


def add_limit(error: str, phrases: Mapping[str, str]) -> str:
    """Returns *error* followed by the limit behind it, if *error* contains one of the *phrases*."""
    for text, limit in phrases.items():
        if text in error:
            return f"{error} ({limit})"
    return error
