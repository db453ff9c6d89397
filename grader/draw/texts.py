"""Finds a text of a problem that can't be filled in with the numbers of a variant."""

from __future__ import annotations

from collections.abc import Iterable

from grader.draw.fault import DrawError, Path, draw_error, expression_error, format_numbers
from grader.expressions import ExpressionError, TextError, evaluate, free_names
from grader.kinds.texts import fill
from grader.model import Variant


def check_question(variant: Variant) -> None:
    """Raises DrawError if the prompt, a given value, a convention, or an ask can't be filled in."""
    problem, drawn = variant.problem, variant.draw
    for label, expression in problem.given.items():
        try:
            evaluate(expression, drawn.scope, drawn.facts)
        except ExpressionError as error:
            place = f"given value '{label}'"
            raise expression_error(problem, ("given", label), place, error, drawn.scope) from None
    _check_texts(
        variant,
        [
            (("prompt",), problem.prompt),
            *((("assumptions", n), text) for n, text in enumerate(problem.assumptions)),
            *((("parts", n, "ask"), part.ask) for n, part in enumerate(problem.parts)),
        ],
    )


def check_explanations(variant: Variant) -> None:
    """Raises DrawError if the worked solution of the problem or of a part can't be filled in."""
    problem = variant.problem
    parts = ((("parts", n, "explanation"), p.explanation) for n, p in enumerate(problem.parts))
    _check_texts(variant, [(("explanation",), problem.explanation), *parts])


def _check_texts(variant: Variant, texts: Iterable[tuple[Path, str]]) -> None:
    for path, text in texts:
        try:
            fill(text, variant.draw)
        except TextError as error:
            raise _text_error(variant, path, text, error) from None


def _text_error(variant: Variant, path: Path, text: str, error: TextError) -> DrawError:
    """Returns the error for *text*, at *path* in the spec, with the drawn numbers."""
    problem, drawn = variant.problem, variant.draw
    what, fix = error.what, error.fix or "check the names and values in the braces"
    unprinted = sorted(free_names(text) & variant.keys.keys() - drawn.scope.keys())
    if unprinted:
        kind = variant.keys[unprinted[0]].part.kind
        what = f"the answer of part '{unprinted[0]}' can't be printed: it is of kind {kind}"
        fix = "write it out, or print parameters and values"
    where = f"in the text of '{path[0] if len(path) < 3 else path[-1]}'"
    with_numbers = f"{where}: {what} (with {format_numbers(problem, drawn.scope)})"
    return draw_error(problem, path, with_numbers, fix, "texts")
