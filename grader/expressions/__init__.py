"""Expressions and texts in problem specs: safe by construction, with units, compiled once."""

from grader.expressions.evaluate import Closure, evaluate, holds, names_in, prepared
from grader.expressions.fault import ExpressionError, TextError
from grader.expressions.functions import FUNCTIONS
from grader.expressions.texts import fill, text_names

__all__ = [
    "FUNCTIONS",
    "Closure",
    "ExpressionError",
    "TextError",
    "evaluate",
    "fill",
    "holds",
    "names_in",
    "prepared",
    "text_names",
]
