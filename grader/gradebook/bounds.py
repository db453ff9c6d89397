"""Limits the size of evidence, whatever a notebook produced."""

from __future__ import annotations

import json
from dataclasses import replace

from grader.gradebook.evidence import evidence_to_json
from grader.gradebook.plain import as_plain
from grader.model import Answer, CellRun, Evidence
from grader.model.evidence import CUT_SHORT

MAX_BYTES = 16_000_000
"""Maximum bytes of a submission's JSON: ten times what the limits on output and answers allow, so
only a kernel that forges its messages comes close."""

_LONGEST_ERROR = 1_000


def limit_size(evidence: Evidence, most: int = MAX_BYTES) -> tuple[Evidence, bytes]:
    """Returns the evidence truncated to at most *most* bytes, and its JSON.

    The output of cells is removed first, then the largest answers, each replaced by the reason.
    Raises GraderError if something in it is not plain data.
    """
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = replace(evidence, cells=tuple(_without_output(cell) for cell in evidence.cells))
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = _without_largest(evidence, len(data) - most)
    return evidence, evidence_to_json(evidence)


def _without_output(cell: CellRun) -> CellRun:
    return replace(cell, output="", error=cell.error and cell.error[:_LONGEST_ERROR])


def _without_largest(evidence: Evidence, excess: int) -> Evidence:
    sizes = {name: _json_size(answer) for name, answer in evidence.answers.items()}
    answers, cut_short = dict(evidence.answers), dict(evidence.cut_short)
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if excess <= 0:
            break
        why = f"the value of {name} is too large to be stored"
        answers[name] = Answer(name=name, raw=None, absent=why)
        cut_short[name] = why
        excess -= sizes[name] - _json_size(answers[name])
    environment = {**evidence.environment, CUT_SHORT: cut_short}
    return replace(evidence, answers=answers, environment=environment)


def _json_size(answer: Answer) -> int:
    text = json.dumps([answer.raw, answer.absent], separators=(",", ":"), default=as_plain)
    return len(text)
