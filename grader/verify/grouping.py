"""Groups the findings of many seeds, so that each kind is listed once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from grader.errors import Location
from grader.verify.case import Finding

MOST_AT_A_PLACE = 3
"""Different findings kept per check and place in the YAML."""
RUN_CODE = frozenset({"implementations", "properties"})
"""Checks that run code, and therefore use fewer seeds."""
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?")


def grouped(findings: Sequence[Finding], seeds: int, code_seeds: int) -> tuple[Finding, ...]:
    """Merges *findings* that differ only in their numbers; keeps the first, with its seed count.

    *seeds* variants were checked, *code_seeds* of them by the checks that run code.
    """
    groups: dict[tuple[str, Location, str], list[Finding]] = {}
    for finding in findings:
        alike = _NUMBER.sub("0", finding.what)
        groups.setdefault((finding.check, finding.where, alike), []).append(finding)
    kept: list[Finding] = []
    places: dict[tuple[str, Location], int] = {}
    for (check, where, _), group in groups.items():
        places[check, where] = places.get((check, where), 0) + 1
        if places[check, where] <= MOST_AT_A_PLACE:
            of = min(seeds, code_seeds) if check in RUN_CODE else seeds
            hit = len({finding.seed for finding in group})
            kept.append(replace(group[0], seeds=hit, of=max(of, hit)))
    return tuple(kept)
