"""The kinds of answers: how each is asked for, read, judged and explained."""

# Imported so that they register.
from grader.kinds import (  # noqa: F401
    choice,
    code,
    explanation,
    integer,
    matching,
    measurement,
    multi_choice,
    numeric,
    ordering,
    prediction,
    short_text,
    table,
    true_false,
)
from grader.kinds.base import BeyondLimit, Example, Kind, KindOf, Tried, Unreadable, Usual, kinds
from grader.kinds.shares import share

__all__ = [
    "BeyondLimit",
    "Example",
    "Kind",
    "KindOf",
    "Tried",
    "Unreadable",
    "Usual",
    "kinds",
    "share",
]
