"""Renders a paper as a student's notebook: questions, answer cells, figures, and the last check."""

from grader.notebook.render.paper_cells import cell_id as cell_id
from grader.notebook.render.paper_cells import check as check
from grader.notebook.render.paper_cells import given_values as given_values
from grader.notebook.render.paper_cells import how_to_answer as how_to_answer
from grader.notebook.render.paper_cells import metadata as metadata
from grader.notebook.render.paper_cells import render as render
from grader.notebook.render.paper_cells import solution as solution
from grader.notebook.render.worked_solution import worked_solution as worked_solution
