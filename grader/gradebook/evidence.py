"""Converts evidence to JSON and back: strict, canonical, and with finite numbers only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any

from grader.errors import GraderError
from grader.gradebook.plain import as_plain
from grader.model import Answer, CellRun, Evidence, Outcome
from grader.model.records import field_values

FORMAT = 1


def evidence_to_json(evidence: Evidence) -> bytes:
    """Returns the evidence as ASCII JSON, with the same bytes for equal evidence.

    ASCII preserves any text from a student. Raises GraderError if something is not JSON or not
    finite.
    """
    try:
        text = json.dumps(
            {"format": FORMAT, **field_values(evidence)},
            allow_nan=False,
            sort_keys=True,
            separators=(",", ":"),
            default=lambda one: field_values(one) if is_dataclass(one) else as_plain(one),
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise GraderError(
            f"evidence of submission {evidence.submission_sha256[:12]} can't be written: {error}"
        ) from None
    return text.encode("ascii")


def evidence_from_json(data: bytes, *, where: str | None = None) -> Evidence:
    """Returns the evidence in *data*.

    Raises GraderError, naming *where*, unless `evidence_to_json` wrote it.
    """
    try:
        return _parse_evidence(
            json.loads(data, parse_constant=_finite_float, parse_float=_finite_float)
        )
    except (ValueError, RecursionError) as error:
        raise GraderError(
            f"evidence is damaged: {error}",
            where=where,
            fix="delete the file and run `grader grade` again; the notebook is executed again",
        ) from None


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


_ALLOWED: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("submission_sha256", "outcome", "output", "name"), ((str,), "text")),
    **dict.fromkeys(("note", "error", "absent"), ((str, NoneType), "text")),
    **dict.fromkeys(("environment", "answers"), ((dict,), "an object")),
    "raw": ((dict, NoneType), "an object"),
    "cells": ((list,), "a list"),
    "seconds": ((int, float), "a number of at least 0"),
    "index": ((int,), "a whole number of at least 0"),
    "line": ((int, NoneType), "a whole number of at least 0"),
}
"""The types that a field may have, and what to call them."""


def _parse_evidence(plain: object) -> Evidence:
    """Returns the evidence in JSON data. Raises ValueError for any other data."""
    version = plain.pop("format", None) if isinstance(plain, dict) else FORMAT
    if version != FORMAT:
        raise ValueError(f"format {version!r} is not known")
    top = _require_fields(plain, Evidence, "the file")
    cells = [CellRun(**_require_fields(item, CellRun, "a cell")) for item in top["cells"]]
    answers = {name: _parse_answer(name, item) for name, item in top["answers"].items()}
    return Evidence(**top | {"cells": tuple(cells), "answers": answers})


def _parse_answer(name: str, plain: object) -> Answer:
    answer = Answer(**_require_fields(plain, Answer, f"answer '{name}'"))
    if answer.name != name:
        raise ValueError(f"answer '{name}' is filed under another name")
    return answer


def _require_fields(plain: object, record: type, what: str) -> dict[str, Any]:
    """Returns the values of the fields of *record* in *plain*, which must have no others."""
    if not isinstance(plain, dict):
        raise ValueError(f"{what} is not an object")
    odd = plain.keys() ^ {field.name for field in fields(record)}
    if odd:
        raise ValueError(f"{what} has missing or unknown fields: {', '.join(sorted(odd))}")
    for name, value in plain.items():
        types, noun = _ALLOWED[name]
        if type(value) not in types or (isinstance(value, int | float) and value < 0):
            raise ValueError(f"'{name}' is not {noun}")
    return plain | {"outcome": Outcome(plain["outcome"])} if "outcome" in plain else plain
