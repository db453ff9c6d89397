"""Figures with a variant's numbers; importing this package registers their types."""

from grader.figures import (
    bits,
    curve,
    grid,
    hierarchy,
    roofline,
    schedule,
    stack,
    steps,
    timeline,
    warp,
)
from grader.figures.base import FigureError, FigureType, figure_types, shown_values
from grader.figures.output import draw_once, figure_png, figure_svg, painted_texts
from grader.figures.placing import explanation_figures, prompt_figures, solution_blocks
