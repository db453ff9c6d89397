"""Draws the value of a parameter, and lists the values that it may take."""

from __future__ import annotations

from collections.abc import Mapping

from grader import units
from grader.model import Parameter, Problem
from grader.model.dice import draw_below
from grader.model.spec import Scalar
from grader.units.quantity import Value


def draw_parameter(
    name: str, parameter: Parameter, seed: bytes, attempt: bytes
) -> Mapping[str, Value]:
    """Returns a value of the parameter by name; with rows, a value for each column.

    The draw depends on *name*, so that a new parameter does not change the draws of others.
    """
    label = f"parameter/{name}/".encode() + attempt
    if parameter.rows:
        row = parameter.rows[draw_below(seed, label, len(parameter.rows))]
        return {c: _attach_unit(value, parameter.units.get(c)) for c, value in row.items()}
    value: Scalar
    if parameter.real is not None:
        value = _value_at_step(parameter, draw_below(seed, label, _count_steps(parameter)))
    else:
        choices = choices_of(parameter)
        value = choices[draw_below(seed, label, len(choices))]
    return {name: _attach_unit(value, parameter.unit)}


def list_drawn_names(problem: Problem) -> list[str]:
    """Returns the names that the parameters of *problem* define: their own, or those of columns."""
    names: list[str] = []
    for name, parameter in problem.parameters.items():
        names += parameter.rows[0] if parameter.rows else [name]
    return names


def choices_of(parameter: Parameter) -> tuple[Scalar, ...] | range:
    """Returns all values that a parameter without rows may take."""
    if parameter.choice is not None:
        return parameter.choice
    if parameter.integer is not None:
        first, last = parameter.integer
        return range(first, last + 1, int(parameter.step or 1))
    return tuple(_value_at_step(parameter, index) for index in range(_count_steps(parameter)))


def _count_steps(parameter: Parameter) -> int:
    assert parameter.real is not None  # noqa: S101 - checked by the loader
    assert parameter.step is not None  # noqa: S101
    low, high = parameter.real
    return int((high - low) / parameter.step + 1e-9) + 1


def _value_at_step(parameter: Parameter, index: int) -> float:
    assert parameter.real is not None  # noqa: S101 - checked by the loader
    assert parameter.step is not None  # noqa: S101
    # Rounded to the step's own digits, so that 0.1 + 2 * 0.1 prints as 0.3.
    return float(f"{parameter.real[0] + index * parameter.step:.12g}")


def _attach_unit(value: Scalar, unit: str | None) -> Value:
    if unit is None or isinstance(value, (str, bool)):
        return value
    return units.quantity(value, unit)
