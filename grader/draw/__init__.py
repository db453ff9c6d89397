"""Draws variants, with keys, from problems and seeds, and papers from releases and students."""

from grader.draw.fault import DrawError, format_numbers
from grader.draw.numbers import MAX_DRAWS
from grader.draw.paper import iter_chosen, iter_questions, paper, points_of, standalone_paper
from grader.draw.parameters import choices_of
from grader.draw.part_letters import with_letters
from grader.draw.texts import check_explanations, check_question
from grader.draw.variant import draw
from grader.model.dice import draw_below, draw_permutation, sample_seed, seed_for
