"""Hidden cases and expected results as data, kept under a digest of all that determines them.

The author's code makes them once. Scoring reads them, so it runs no solution and draws no random
numbers: neither a new version of numpy nor one of the grader changes a mark.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from grader.kinds.hidden.compare import Closeness
from grader.model import Call, Draw

FORMAT = 1
"""Part of each digest; increase it if the same solution must make other cases."""
REPEATED = 2
"""The number of cases to call again at the end, to detect dependence on the order of calls."""

Keep = Callable[[str, Callable[[], object]], Any]
"""Returns the JSON data kept under a digest; if there is none, makes and keeps it. **Secret.**"""


def make_anew(_digest: str, make: Callable[[], object]) -> object:
    """Returns what *make* returns and keeps nothing, for keys outside a results folder."""
    return make()


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenCase:
    """One call of the student's function."""

    group: str
    call: Call
    near: Closeness
    again: bool = False
    """Whether it repeats another case."""


def digest_of_cases(part: str, draw: Draw) -> str:
    """Returns the digest of the cases of *part* in a variant."""
    # Only solutions that look up facts depend on them.
    facts = repr(draw.facts) if ".fact(" in draw.solution else ""
    values = sorted((name, repr(value)) for name, value in draw.parameters.items())
    return _digest("cases", part, draw.solution, draw.number(f"cases/{part}"), values, facts)


def digest_of_expected(cases: str, driver: str, tools: Sequence[str]) -> str:
    """Returns the digest of the expected results of cases with the digest *cases*."""
    return _digest("expected", cases, driver, list(tools))


def _digest(*what: object) -> str:
    return hashlib.sha256(json.dumps([FORMAT, *what]).encode()).hexdigest()


def read_cases(
    data: Sequence[Mapping[str, Any]], near: Closeness, order: Sequence[int]
) -> tuple[HiddenCase, ...]:
    """Returns the cases: those of the solution, then repetitions of the first of *order*.

    *near* applies to cases without a closeness of their own.
    """
    cases = [
        HiddenCase(
            group=case["group"],
            call=Call(inputs=case["inputs"], seed=case["seed"], group=case["group"]),
            near=near if case["closeness"] is None else Closeness(**case["closeness"]),
        )
        for case in data
    ]
    again = (cases[i] for i in sorted(order[:REPEATED]))
    repeated = (HiddenCase(group=c.group, call=c.call, near=c.near, again=True) for c in again)
    return (*cases, *repeated)


@lru_cache(maxsize=64)
def names_in(texts: tuple[str, ...]) -> frozenset[str]:
    """Returns the names in an author's code, such as the keys of a driver's dict."""
    return frozenset(name for text in texts for pair in _LITERAL.findall(text) for name in pair)


_LITERAL = re.compile(r"""["']([A-Za-z_]\w*)["']|\b([A-Za-z_]\w*)=""")
