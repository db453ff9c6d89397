"""Draws variants, with keys, from problems and seeds, and papers from releases and students."""

from grader.draw.fault import DrawError, numbers
from grader.draw.paper import asked, loose_paper, paper, points_of
from grader.draw.parameters import choices_of
from grader.draw.plan import MAX_DRAWS
from grader.draw.variant import draw
from grader.model.dice import below, order, sample_seed, seed_for

__all__ = [
    "MAX_DRAWS",
    "DrawError",
    "asked",
    "below",
    "choices_of",
    "draw",
    "loose_paper",
    "numbers",
    "order",
    "paper",
    "points_of",
    "sample_seed",
    "seed_for",
]
