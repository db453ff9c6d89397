"""The facts table: hardware numbers in one place, each with its source and date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader import units
from grader.bank.names import check_unit
from grader.bank.shape import describe
from grader.bank.yaml12 import Located, Path_, read_yaml
from grader.errors import SpecError, SpecErrors
from grader.units.quantity import Value

_ABOUT = ("name", "source", "checked")


class BankFacts(Mapping[str, Mapping[str, Value]]):
    """The facts in several folders. Later folders override earlier ones.

    If a file can't be read, only a lookup of a missing item and iteration over all items raise its
    SpecErrors.
    """

    def __init__(self, folders: Sequence[Path]):
        self.errors: tuple[SpecError, ...] = ()
        self._facts: dict[str, Mapping[str, Value]] = {}
        for folder in folders:
            facts, errors = read_facts(folder)
            self._facts.update(facts)
            self.errors += errors

    def __getitem__(self, item: str) -> Mapping[str, Value]:
        if item not in self._facts and self.errors:
            raise SpecErrors(self.errors)
        return self._facts[item]

    def __iter__(self) -> Iterator[str]:
        if self.errors:
            raise SpecErrors(self.errors)
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)


def read_facts(folder: Path) -> tuple[dict[str, Mapping[str, Value]], tuple[SpecError, ...]]:
    """Returns all valid items of the YAML files in *folder*, and the errors in the others."""
    facts: dict[str, Mapping[str, Value]] = {}
    errors: list[SpecError] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            source = read_yaml(path)
        except SpecError as error:
            errors.append(error)
            continue
        if not isinstance(source.data, dict):
            what = f"expected items, saw {describe(source.data)}"
            errors.append(source.error((), what, "write 'h100-sxm:' and fields"))
            continue
        for item, fields in source.data.items():
            if item in facts:
                what = f"the item '{item}' is already in another file"
                errors.append(source.error((item,), what, "rename it", key=True))
            wrong = list(_check_item(item, fields, source))
            errors += wrong
            if not wrong:
                facts[item] = facts_item(fields)
    return facts, tuple(errors)


def facts_item(fields: Mapping[str, object]) -> Mapping[str, Value]:
    """Returns the fields of an item as values; numbers become quantities with their units."""
    values: dict[str, Value] = {}
    for name, field in fields.items():
        if isinstance(field, Mapping):
            values[name] = units.quantity(field["value"], str(field.get("unit", "")))
        else:
            values[name] = str(field)
    return values


def facts_data(facts: Mapping[str, Mapping[str, Value]]) -> dict[str, dict[str, object]]:
    """Returns *facts* as plain data; `facts_item` is the inverse for each item."""
    return {
        item: {name: _value_data(value) for name, value in fields.items()}
        for item, fields in facts.items()
    }


def _value_data(value: Value) -> object:
    """Returns *value* as plain data: a text as it is, a number with its unit."""
    if isinstance(value, str):
        return value
    unit = getattr(value, "unit", None) or ""
    return {"value": units.magnitude(value, unit), "unit": unit}


def _check_item(item: str, fields: object, source: Located) -> Iterator[SpecError]:
    """Yields errors in the fields of one item of a facts file, such as a missing source."""
    if not isinstance(fields, dict):
        what = f"'{item}' should have fields, saw {describe(fields)}"
        yield source.error((item,), what, "add name, source, checked and numbers")
        return
    for name in _ABOUT:
        if not isinstance(fields.get(name), str):
            fix = "add it; numbers can't be checked without a name, source, and date"
            yield source.error((item,), f"'{item}' has no {name}", fix)
    for name, field in fields.items():
        if name not in _ABOUT:
            yield from _check_field(field, source, (item, name))


def _check_field(field: object, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields errors in a field of an item, which must be a number with a known unit."""
    fix = "write {value: 3.35, unit: TB/s}"
    if not isinstance(field, dict) or set(field) - {"value", "unit", "note"}:
        what = f"'{at[-1]}' should be a value with a unit, saw {describe(field)}"
        yield source.error(at, what, fix)
        return
    value = field.get("value")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield source.error(at, f"'{at[-1]}' has no number", fix)
    yield from check_unit(str(field.get("unit", "")), source, (*at, "unit"))
