"""Why a name was not defined, in words for the student."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.model import CellRun, Outcome

_LOOKED_AT = 200_000
"""Characters of a cell that are searched."""
_NAMES = 500
_OPERATOR = r"(?://|\*\*|<<|>>|[-+*/%@&|^])?=(?!=)"


@dataclass(frozen=True, slots=True)
class Code:
    """A code cell, with the number that Jupyter shows beside it when all cells are run."""

    number: int
    index: int
    """Counting all cells of the notebook from 0."""
    source: str


class Reasons:
    """What is known about the cells of one run, to say why a name is missing."""

    def __init__(self, code: Sequence[Code], runs: Mapping[int, CellRun], names: Sequence[str]):
        self._code = code
        self._runs = runs
        self._names = frozenset(names)

    def why(self, name: str) -> str:
        """One sentence without a full stop, such as "no cell sets q3_x"."""
        setting = [code for code in self._code if _sets(name).search(code.source[:_LOOKED_AT])]
        if not setting:
            return f"no cell sets {name}{self._near(name)}"
        failed = (code for code in setting if self._failed(code))
        code = next(failed, setting[-1])
        return _sentence(name, code, self._runs[code.number])

    def _failed(self, code: Code) -> bool:
        run = self._runs[code.number]
        return run.outcome is not Outcome.FINISHED or run.error is not None

    def _near(self, name: str) -> str:
        others = {other: code for code in self._code for other in _set_by(code)}
        known = [other for other in others if other not in self._names][:_NAMES]
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        return f"; code cell {others[close[0]].number} sets {close[0]}" if close else ""


def _sentence(name: str, code: Code, run: CellRun) -> str:
    cell = f"code cell {code.number}"
    raised = run.outcome is Outcome.FINISHED or run.line is not None
    if run.error is None:
        if all(match["indent"] for match in _sets(name).finditer(code.source[:_LOOKED_AT])):
            return f"{cell} sets {name} only inside a function or a branch that was not taken"
        return f"{cell} sets {name}, but it was gone when the notebook had run"
    if re.match(r"(Syntax|Indentation|Tab)Error\b", run.error):
        where = f" at line {run.line}" if run.line else ""
        return f"{cell} has a syntax error{where}"
    if raised:
        return f"{cell} stopped with {run.error} before {name} was set"
    return f"{cell}, which sets {name}, {run.error}"


def targets(source: str) -> Iterator[tuple[str, bool]]:
    """Every name that *source* seems to give a value, and whether its line is indented.

    Not by `ast`: what students hand in need not be Python, has magic commands in it, and makes
    the parser warn. Looks at one line after another, so that it costs next to nothing.
    """
    for line in source[:_LOOKED_AT].splitlines():
        bare = _MAGIC.sub("", line)
        inside = bare[:1].isspace()
        for statement in bare.split(";"):
            yield from ((name, inside) for name in _NAMED.findall(statement))
            for part in _ASSIGNS.split(statement)[:-1]:
                # Within brackets that don't close it is an argument of a call.
                if part.count("(") == part.count(")"):
                    yield from ((name, inside or ":" in part) for name in _TARGET.findall(part))


_MAGIC = re.compile(r"^%+\w+[ \t]+|#[^\"']*$")
_NAMED = re.compile(r"\b(?:for|as|def|class|import) +(\w{1,80})\b|\b(\w{1,80}) *:=")
_ASSIGNS = re.compile(r"(?<![=!<>:])=(?!=)")
_TARGET = re.compile(r"(?<![\w.\"'\[])([A-Za-z_]\w{0,80})(?![\w.(\[\"'])")
