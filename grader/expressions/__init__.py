"""Expressions and texts in problem specs: safe by construction, with units, compiled once."""

from grader.expressions.evaluate import Closure, compile_expression, evaluate, holds, names_in
from grader.expressions.fault import ExpressionError, TextError
from grader.expressions.functions import FUNCTIONS, read_choice
from grader.expressions.texts import fill, free_names, line_of_name
