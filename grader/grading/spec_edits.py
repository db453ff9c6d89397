"""Small changes of specs for the question "what if": a tolerance, a key, or a credit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.bank.problem import problem_from
from grader.bank.yaml12 import Located, scalar
from grader.errors import SetupError, SpecError
from grader.model import Release
from grader.registry import suggest
from grader.release.file import edit_specs

_PLACE = re.compile(r"([^/=\s]+)/([^/=\s]+)\Z")
_FACTOR = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)x\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecEdit:
    """A change of one part."""

    what: str
    """`tolerance`, `key`, or `credit`."""
    problem: str
    part: str
    value: str

    def __str__(self) -> str:
        return f"{self.what} {self.problem}/{self.part}={self.value}"


def parse_place(text: str) -> tuple[str, str]:
    """Returns the problem and the part in "PROBLEM/PART". Raises SetupError for any other text."""
    match = _PLACE.match(text)
    if not match:
        raise SetupError(f"'{text}' is not a part", fix="write PROBLEM/PART, such as kv-cache/size")
    return match[1], match[2]


def parse_edit(what: str, text: str) -> SpecEdit:
    """Returns the edit in "PROBLEM/PART=VALUE". Raises SetupError for any other text."""
    place, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise SetupError(f"'{text}' has no value", fix=f"write --{what} PROBLEM/PART=VALUE")
    problem, part = parse_place(place.strip())
    return SpecEdit(what=what, problem=problem, part=part, value=value.strip())


def require_part(release: Release, problem: str, part: str) -> None:
    """Raises SetupError unless *release* has the problem and the problem has the part."""
    if problem not in release.problems:
        ids = list(release.problems)
        fix = suggest(problem, ids, "it has: " + ", ".join(ids))
        raise SetupError(f"these results have no problem '{problem}'", fix=fix)
    ids = [part_of_problem.id for part_of_problem in release.problems[problem].parts]
    if part not in ids:
        fix = suggest(part, ids, "it has: " + ", ".join(ids))
        raise SetupError(f"the problem '{problem}' has no part '{part}'", fix=fix)


def apply_edits(release: Release, edits: Sequence[SpecEdit]) -> Release:
    """Returns *release* with the specs that *edits* change, in order. Raises SetupError if a part
    doesn't exist, or if an edit would make a spec that is not valid."""
    changed: dict[str, Any] = {}
    for edit in edits:
        require_part(release, edit.problem, edit.part)
        source = changed.get(edit.problem, release.sources[edit.problem])
        parts = tuple(
            _edit_part(part, edit) if part.get("id") == edit.part else part
            for part in source["parts"]
        )
        source = {**source, "parts": parts}
        _require_valid_spec(release, edit, source)
        changed[edit.problem] = source
    return edit_specs(release, changed) if changed else release


def _require_valid_spec(release: Release, edit: SpecEdit, source: Mapping[str, Any]) -> None:
    """Raises SetupError, naming *edit*, if the spec *source* that it made is not valid."""
    solution = release.problems[edit.problem].solution
    try:
        problem_from(Located(edit.problem, source, {(): (1, 1)}, {}), solution)
    except SpecError as error:
        first = error.errors[0]
        raise SetupError(f"can't change '{edit}': {first.what}", fix=first.fix) from None


def _edit_part(part: Mapping[str, Any], edit: SpecEdit) -> Mapping[str, Any]:
    """Returns the spec of one part with *edit* applied."""
    if edit.what == "tolerance":
        return {**part, "tolerance": _tolerance(edit.value)}
    if edit.what == "key":
        return {**part, "answer": scalar(edit.value)}
    mistake, colon, credit = edit.value.rpartition(":")
    if not colon:
        fix = f"write --credit {edit.problem}/{edit.part}=MISTAKE:SHARE, such as not-sharded:50%"
        raise SetupError(f"'{edit.value}' has no credit", fix=fix)
    for key in ("mistakes", "options"):
        listed = part.get(key, ())
        if any(item.get("id") == mistake for item in listed):
            share = scalar(credit)
            edited = tuple(
                {**item, "credit": share} if item.get("id") == mistake else item for item in listed
            )
            return {**part, key: edited}
    ids = [str(o["id"]) for key in ("mistakes", "options") for o in part.get(key, ()) if "id" in o]
    fix = suggest(mistake, ids, f"it has: {', '.join(ids) or 'none'}")
    raise SetupError(f"'{edit.problem}/{edit.part}' has no mistake '{mistake}'", fix=fix)


def _tolerance(text: str) -> dict[str, object]:
    """Returns the tolerance that *text* means: 2% of the key, a factor such as 2x, or a distance.

    >>> _tolerance("2%"), _tolerance("2x"), _tolerance("0.5")
    ({'relative': '2%'}, {'factor': 2.0}, {'absolute': 0.5})
    """
    if text.endswith("%"):
        return {"relative": text}
    if factor := _FACTOR.match(text):
        return {"factor": float(factor[1])}
    return {"absolute": scalar(text)}
