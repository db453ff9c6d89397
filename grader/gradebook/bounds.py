"""Evidence that is small enough to be kept, whatever a notebook made of it."""

from __future__ import annotations

import json
from dataclasses import replace

from grader.gradebook.evidence import evidence_to_json
from grader.gradebook.plain import as_plain
from grader.model import Answer, CellRun, Evidence
from grader.model.evidence import CUT_SHORT

MAX_BYTES = 16_000_000
"""Of the JSON of one submission; ten times what limits on output and answers let an honest kernel
say, so only one that forges its messages comes near."""

_LONGEST_ERROR = 1_000


def bounded(evidence: Evidence, most: int = MAX_BYTES) -> tuple[Evidence, bytes]:
    """The evidence with what does not fit into *most* bytes left out, and its JSON.

    What cells printed goes first; then the largest answers, each with the reason in its place.
    Raises GraderError when something in it is not plain data.
    """
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = replace(evidence, cells=tuple(_short(cell) for cell in evidence.cells))
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = _without_largest(evidence, len(data) - most)
    return evidence, evidence_to_json(evidence)


def _short(cell: CellRun) -> CellRun:
    return replace(cell, output="", error=cell.error and cell.error[:_LONGEST_ERROR])


def _without_largest(evidence: Evidence, excess: int) -> Evidence:
    sizes = {name: _size(answer) for name, answer in evidence.answers.items()}
    answers, cut_short = dict(evidence.answers), dict(evidence.cut_short)
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if excess <= 0:
            break
        why = f"what {name} holds is too large to be kept"
        answers[name] = Answer(name=name, raw=None, absent=why)
        cut_short[name] = why
        excess -= sizes[name] - _size(answers[name])
    environment = {**evidence.environment, CUT_SHORT: cut_short}
    return replace(evidence, answers=answers, environment=environment)


def _size(answer: Answer) -> int:
    text = json.dumps([answer.raw, answer.absent], separators=(",", ":"), default=as_plain)
    return len(text)
