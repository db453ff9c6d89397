"""Converts evidence to JSON and back: strict, canonical, and with finite numbers only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import NoReturn

from grader.errors import GraderError
from grader.gradebook.plain import as_plain
from grader.model import Answer, CellRun, Evidence, Outcome

FORMAT = 1


def evidence_to_json(evidence: Evidence) -> bytes:
    """Returns the evidence as ASCII JSON, with the same bytes for equal evidence.

    ASCII preserves any text from a student. Raises GraderError if something is not JSON or not
    finite.
    """
    plain = {
        "format": FORMAT,
        "submission_sha256": evidence.submission_sha256,
        "outcome": evidence.outcome.value,
        "seconds": evidence.seconds,
        "note": evidence.note,
        "environment": evidence.environment,
        "cells": [
            {
                "index": cell.index,
                "outcome": cell.outcome.value,
                "seconds": cell.seconds,
                "error": cell.error,
                "line": cell.line,
                "output": cell.output,
            }
            for cell in evidence.cells
        ],
        "answers": {
            name: {"name": answer.name, "raw": answer.raw, "absent": answer.absent}
            for name, answer in evidence.answers.items()
        },
    }
    try:
        text = json.dumps(
            plain, allow_nan=False, sort_keys=True, separators=(",", ":"), default=as_plain
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
            json.loads(data, parse_constant=_refuse_constant, parse_float=_finite_float)
        )
    except (ValueError, RecursionError) as error:
        raise GraderError(
            f"evidence is damaged: {error}",
            where=where,
            fix="delete the file and run `grader grade` again; the notebook is executed again",
        ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _parse_evidence(plain: object) -> Evidence:
    names = {"format", "submission_sha256", "outcome", "seconds", "note", "environment"}
    top = _require_fields(plain, names | {"cells", "answers"}, "the file")
    if top["format"] != FORMAT:
        raise ValueError(f"format {top['format']!r} is not known")
    cells, answers = top["cells"], top["answers"]
    if not isinstance(cells, list):
        raise ValueError("'cells' is not a list")
    return Evidence(
        submission_sha256=_text_field(top, "submission_sha256"),
        outcome=Outcome(_text_field(top, "outcome")),
        seconds=_number_field(top, "seconds"),
        note=_optional_text_field(top, "note"),
        environment=_require_mapping(top["environment"], "environment"),
        cells=tuple(_parse_cell(cell) for cell in cells),
        answers={
            name: _parse_answer(name, a) for name, a in _require_mapping(answers, "answers").items()
        },
    )


def _parse_cell(plain: object) -> CellRun:
    cell = _require_fields(
        plain, {"index", "outcome", "seconds", "error", "line", "output"}, "a cell"
    )
    return CellRun(
        index=_count_field(cell, "index"),
        outcome=Outcome(_text_field(cell, "outcome")),
        seconds=_number_field(cell, "seconds"),
        error=_optional_text_field(cell, "error"),
        line=None if cell["line"] is None else _count_field(cell, "line"),
        output=_text_field(cell, "output"),
    )


def _parse_answer(name: str, plain: object) -> Answer:
    answer = _require_fields(plain, {"name", "raw", "absent"}, f"answer '{name}'")
    if answer["name"] != name:
        raise ValueError(f"answer '{name}' is filed under another name")
    raw = answer["raw"]
    return Answer(
        name=name,
        raw=None if raw is None else _require_mapping(raw, f"answer '{name}'"),
        absent=_optional_text_field(answer, "absent"),
    )


def _require_fields(plain: object, names: set[str], what: str) -> dict[str, object]:
    found = _require_mapping(plain, what)
    if found.keys() != names:
        odd = ", ".join(sorted(found.keys() ^ names))
        raise ValueError(f"{what} has missing or unknown fields: {odd}")
    return found


def _require_mapping(plain: object, what: str) -> dict[str, object]:
    if not isinstance(plain, dict):
        raise ValueError(f"{what} is not an object")
    return plain


def _text_field(fields: Mapping[str, object], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise ValueError(f"'{name}' is not text")
    return value


def _optional_text_field(fields: Mapping[str, object], name: str) -> str | None:
    return None if fields[name] is None else _text_field(fields, name)


def _number_field(fields: Mapping[str, object], name: str) -> float:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"'{name}' is not a number of at least 0")
    return value


def _count_field(fields: Mapping[str, object], name: str) -> int:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"'{name}' is not a whole number of at least 0")
    return value
