"""What the text of a student's code shows: whether it is the starter, and whether it uses what its
part forbids."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.kinds.hidden.doubtful_use import find_doubtful_use
from grader.kinds.hidden.forbidden_use import find_forbidden_use
from grader.kinds.hidden.source import extract_definition, find_undefined_name
from grader.kinds.hidden.statements import shape_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReview:
    """What the text of a student's code shows."""

    is_starter: bool = False
    """Whether it is the starter except for comments and layout."""
    broken_rule: str | None = None
    """The forbidden name that the code certainly uses, in words; None if there is none."""
    doubt: str | None = None
    """Why it is unclear whether the code uses what is forbidden; None if it is clear."""


def review_source(
    source: str, name: str, starter: str, forbidden: Sequence[str]
) -> dict[str, object]:
    """Returns the fields of the `SourceReview` of the code of *name*, as JSON data."""
    rule = find_forbidden_use(source, forbidden)
    definition = extract_definition([source], name)
    return {
        "is_starter": bool(definition)
        and shape_of(definition) == shape_of(extract_definition([starter], name)),
        "broken_rule": rule,
        "doubt": None if rule else next(_iter_doubts(source, definition, forbidden), None),
    }


def _iter_doubts(source: str, definition: str, forbidden: Sequence[str]) -> Iterator[str]:
    """Yields why it is unclear what *source* uses; *definition* is the part's code, if found."""
    if not forbidden:
        return
    if not definition:
        yield "its code was not found; define it at the top of a cell of plain Python"
    name = find_undefined_name(source)
    if name is not None:
        # The name may be set to something forbidden at run time, or be a typo in unreachable code.
        yield f"no cell defines `{name}`"
    way = find_doubtful_use(source, forbidden)
    if way is not None:
        yield f"its text does not show what it calls: it uses {way}"


def digest_of_review(*what: object) -> str:
    """Returns the digest of a review by the arguments of `review_source`."""
    return hashlib.sha256(json.dumps([_digest_of_reviewer(), *what]).encode()).hexdigest()


@cache
def _digest_of_reviewer() -> str:
    """Returns a digest of the code that reviews, so that no review outlives a change of it."""
    digest = hashlib.sha256(sys.version.encode())  # the syntax tree differs between versions
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
