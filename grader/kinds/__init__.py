"""The kinds of answers; importing this package registers them."""

from grader.kinds import (
    choice,
    code,
    explanation,
    matching,
    measurement,
    multi_choice,
    numeric,
    ordering,
    plan,
    prediction,
    short_text,
    table,
    true_false,
)
from grader.kinds.base import BeyondLimit, Example, Kind, KindOf, Unreadable, kinds
