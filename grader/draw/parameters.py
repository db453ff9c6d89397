"""The possible values of parameters, as dice that are made once per problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader import units
from grader.draw.dice import below, even, hashed
from grader.model import Parameter
from grader.model.spec import Scalar
from grader.units.quantity import Value

# Longer ranges are not expanded, since few of their values are ever drawn.
_WRITTEN_OUT = 4096

Face = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Die:
    """One parameter as a die; with rows, it draws all columns at once."""

    names: frozenset[str]
    label: bytes
    """Made from the name, so that a new parameter does not change the draws of others."""
    count: int
    limit: int
    face: Callable[[int], Face]

    def roll(self, seed: bytes, attempt: bytes) -> int:
        """The index of the face for *seed* and *attempt*, equal to that of `below`."""
        label = self.label + attempt
        value = hashed(seed + b"|0|" + label)
        return value % self.count if value < self.limit else below(seed, label, self.count)


def die_of(name: str, parameter: Parameter) -> Die:
    """The die of a parameter."""
    count, face = _rows(parameter) if parameter.rows else _values(name, parameter)
    if count <= _WRITTEN_OUT:
        face = tuple(map(face, range(count))).__getitem__
    return Die(
        names=frozenset(parameter.rows[0] if parameter.rows else (name,)),
        label=f"parameter/{name}/".encode(),
        count=count,
        limit=even(count),
        face=face,
    )


def _rows(parameter: Parameter) -> tuple[int, Callable[[int], Face]]:
    rows = parameter.rows or ()

    def face(index: int) -> Face:
        return {c: _with_unit(v, parameter.units.get(c)) for c, v in rows[index].items()}

    return len(rows), face


def _values(name: str, parameter: Parameter) -> tuple[int, Callable[[int], Face]]:
    count, value = _choices(parameter)
    return count, lambda index: {name: _with_unit(value(index), parameter.unit)}


def choices_of(parameter: Parameter) -> tuple[Scalar, ...] | range:
    """All values that a parameter without rows may take."""
    if parameter.choice is not None:
        return parameter.choice
    if parameter.integer is not None:
        first, last = parameter.integer
        return range(first, last + 1, int(parameter.step or 1))
    count, value = _steps(parameter)
    return tuple(map(value, range(count)))


def _choices(parameter: Parameter) -> tuple[int, Callable[[int], Scalar]]:
    """The number of values of a parameter without rows, and a function from index to value."""
    if parameter.real is not None:
        return _steps(parameter)
    choices = choices_of(parameter)
    return len(choices), choices.__getitem__


def _steps(parameter: Parameter) -> tuple[int, Callable[[int], float]]:
    assert parameter.real is not None  # noqa: S101 - the loader saw to it
    assert parameter.step is not None  # noqa: S101
    (low, high), step = parameter.real, parameter.step
    # Rounded to the step's own digits, so that 0.1 + 2 * 0.1 prints as 0.3.
    return int((high - low) / step + 1e-9) + 1, lambda i: float(f"{low + i * step:.12g}")


def _with_unit(value: Scalar, unit: str | None) -> Value:
    if unit is None or isinstance(value, (str, bool)):
        return value
    return units.quantity(value, unit)
