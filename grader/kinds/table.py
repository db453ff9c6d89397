"""A grid of numbers, each cell judged separately; part credit for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from grader import units
from grader.expressions import evaluate
from grader.kinds import numeric, samples, tolerance
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, kinds, partial_judgment
from grader.kinds.cells import UnreadableCell, format_cell, require_readable
from grader.kinds.grids import Cell, Grid, fold_label, read_grid
from grader.kinds.lettered import one_line
from grader.kinds.numeric import Numeric, NumericKey
from grader.kinds.slips import Slips
from grader.kinds.texts import fill
from grader.model import Draw, Expr, Judgment, Key, Mistake, Part, Raw, Text, Tolerance, Verdict
from grader.model.grouping import group_by_key
from grader.model.spec import Strict
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Strict):
    """A column of numbers; its expressions may use the row's name."""

    id: str
    title: Text
    """The heading of the column."""
    answer: Expr
    unit: str = ""
    """The unit of a number without one; empty for a plain number."""
    tolerance: Tolerance = tolerance.DEFAULT
    """How far a cell may be from the key; 1% of the key if not given."""
    mistakes: tuple[Mistake, ...] = ()
    slips: Slips | Literal[False] = field(default_factory=Slips)
    """The credit for a unit slip; false if the part tests for such slips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Part):
    """A grid of numbers to fill in."""

    kind: Literal["table"] = "table"
    row: str
    """The name of the row's value in expressions, such as `batch`."""
    rows: tuple[Expr, ...]
    """The values of the rows."""
    columns: tuple[Column, ...]
    """The columns to fill in for each row."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the name of the row's value."""
        return (self.row,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKey(Key):
    """The keys of all cells, and the labels of rows and columns."""

    part: Table
    rows: tuple[str, ...]
    """The rows' labels."""
    titles: tuple[str, ...]
    """The columns' titles."""
    units: tuple[str, ...]
    """The columns' units."""
    cells: tuple[tuple[NumericKey, ...], ...]
    """By row and column; empty in a key made from a sheet."""


class TableKind(KindOf[TableKey, Grid]):
    """A grid of numbers, each cell judged separately."""

    spec = Table

    def key(self, part: Table, draw: Draw) -> TableKey:
        if not part.rows or not part.columns:
            raise ValueError("a table needs at least one row and one column")
        values = [evaluate(row, draw.scope, draw.facts) for row in part.rows]
        labels = tuple(units.format_quantity(value) for value in values)
        if len({fold_label(label) for label in labels}) < len(labels):
            raise ValueError(f"two rows have the same label: {', '.join(labels)}")
        return TableKey(
            part=part,
            draw=draw,
            rows=labels,
            titles=tuple(one_line(fill(c.title, draw)) for c in part.columns),
            units=tuple(c.unit for c in part.columns),
            cells=tuple(_make_row_keys(part, value, draw) for value in values),
        )

    def read(self, raw: Raw, key: TableKey) -> Grid:
        wanted = f"a dict from {key.part.row} to a list of {len(key.titles)}"
        grid = read_grid(raw, key.rows, key.units, wanted)
        require_readable(cell for row in grid for cell in row)
        return grid

    def judge(self, value: Grid, key: TableKey) -> Judgment:
        judged = {
            f"{label} / {title}": _judge_cell(cell, cell_key)
            for label, row, keys in zip(key.rows, value, key.cells, strict=True)
            for title, cell, cell_key in zip(key.titles, row, keys, strict=True)
        }
        cells = {label: j.verdict for label, j in judged.items()}
        right = sum(j.verdict is Verdict.CORRECT for j in judged.values())
        if right == len(judged):
            return replace(CORRECT, cells=cells)
        share = _mean(j.share or 0.0 for j in judged.values())
        mistake = next((j.mistake for j in judged.values() if j.mistake), None)
        return partial_judgment(share, _format_feedback(judged, right), mistake, cells)

    def format_value(self, value: Grid, key: TableKey) -> str:
        return "; ".join(
            f"{label}: {', '.join(map(_format_cell, row, key.units))}"
            for label, row in zip(key.rows, value, strict=True)
        )

    def examples(self, key: TableKey) -> tuple[Example, ...]:
        right = _right_numbers(key)
        by_row = dict(zip(key.rows, right, strict=True))
        by_unknown = {"no such row": right[0], **dict(list(by_row.items())[1:])}
        return (
            samples.right(by_row, "the right numbers by row"),
            samples.right(right, "the right numbers in the rows' order"),
            *_one_cell_examples(key),
            *_mistake_examples(key),
            samples.unreadable(by_unknown, "a row that is not there"),
            samples.unreadable([*right, right[0]], "too many rows"),
            samples.unreadable(
                dict.fromkeys(key.rows, [...] * len(key.titles)), "the untouched placeholder"
            ),
            *(samples.unreadable(answer, "no grid") for answer in (1, True, "1 2 3", object(), [])),
            *samples.NOTHING,
        )

    def instructions(self, key: TableKey) -> str:
        return f"for each row, a list: [{column_heads(key)}]; each number counts"

    def answer(self, key: TableKey) -> object:
        return dict(zip(key.rows, _right_numbers(key), strict=True))

    def sheet(self, key: TableKey) -> Mapping[str, object]:
        return {
            "row": key.part.row,
            "rows": list(key.rows),
            "columns": [list(c) for c in zip(key.titles, key.units, strict=True)],
        }

    def from_sheet(self, sheet: Mapping[str, object]) -> TableKey:
        rows, columns = sheet["rows"], sheet["columns"]
        if not isinstance(rows, list) or not isinstance(columns, list):
            raise ValueError("'rows' and 'columns' must be lists")
        titles, of_columns = zip(*((str(title), str(unit)) for title, unit in columns), strict=True)
        for unit in of_columns:
            units.parse_unit(unit)
        return TableKey(
            part=Table(id="", ask="", row=str(sheet["row"]), rows=(), columns=()),
            draw=UNDRAWN,
            rows=tuple(str(row) for row in rows),
            titles=titles,
            units=of_columns,
            cells=(),
        )

    def explain(self, key: TableKey) -> str:
        titles = " | ".join(title.replace("|", "\\|") for title in key.titles)
        lines = [
            "All cells count equally.",
            "",
            f"| {key.part.row} | {titles} |",
            "|---" * (len(key.titles) + 1) + "|",
        ]
        for label, row in zip(key.rows, key.cells, strict=True):
            lines.append(f"| {label} | {' | '.join(map(numeric.explain, row))} |")
        return "\n".join(lines)


def _make_row_keys(part: Table, value: Value, draw: Draw) -> tuple[NumericKey, ...]:
    """Returns the key of each cell in the row whose value is *value*."""
    draw = replace(draw, scope={**draw.scope, part.row: value})
    shared = ("id", "answer", "unit", "tolerance", "mistakes", "slips")
    fields = [{name: getattr(column, name) for name in shared} for column in part.columns]
    return tuple(numeric.make_key(Numeric(ask="", **of_column), draw) for of_column in fields)


def _judge_cell(cell: Cell, key: NumericKey) -> Judgment:
    if isinstance(cell, UnreadableCell):
        return Judgment(share=0.0, verdict=Verdict.UNREADABLE, note=cell.sentence)
    if cell is None:
        return Judgment(share=0.0, verdict=Verdict.ABSENT)
    return numeric.judge(cell, key)


def _format_feedback(judged: Mapping[str, Judgment], right: int) -> str:
    """Returns how many cells are *right*, and the notes on the others. A note appears only once."""
    labels_by_note = group_by_key(
        (judgment.note, label)
        for label, judgment in judged.items()
        if judgment.note and judgment.verdict in (Verdict.MISTAKE, Verdict.UNREADABLE)
    )
    notes = [f"{', '.join(labels)}: {note}" for note, labels in labels_by_note.items()]
    are = "is" if right == 1 else "are"
    return " ".join([f"{right} of {len(judged)} cells {are} right.", *notes])


def _format_cell(cell: Cell, unit: str) -> str:
    return format_cell(cell, lambda number: numeric.format_number(number, unit))


def column_heads(key: TableKey) -> str:
    """Returns the titles of the columns with their units, on one line."""
    pairs = zip(key.titles, key.units, strict=True)
    return ", ".join(f"{t} in {units.asked_unit(u)}" if u else t for t, u in pairs)


def _mean(shares: Iterable[float]) -> float:
    listed = list(shares)
    return round(sum(listed) / len(listed), 9)


def _right_numbers(key: TableKey) -> list[list[object]]:
    return [[cell.value for cell in row] for row in key.cells]


def _sample_with(
    key: TableKey, row: int, column: int, cell: object, share: float, why: str, **more: str
) -> Example:
    """Returns the example of a grid that is right but for one *cell*, which earns *share*."""
    rows = _right_numbers(key)
    rows[row][column] = cell
    other_shares = [1.0] * (len(rows) * len(rows[0]) - 1)
    return samples.sample(rows, _mean([share, *other_shares]), why, **more)


def _one_cell_examples(key: TableKey) -> Iterator[Example]:
    """Yields grids with one bad cell: wrong and, if there are other cells, blank or unreadable."""
    faults: dict[str, object] = {"wrong": numeric.wrong_number(key.cells[0][0])}
    if len(key.cells) * len(key.titles) > 1:
        faults |= {"left blank": ..., "unreadable": math.nan}
    for fault, cell in faults.items():
        yield _sample_with(key, 0, 0, cell, 0.0, f"one cell {fault}")


def _mistake_examples(key: TableKey) -> Iterator[Example]:
    """Yields every cell's mistakes, each in a grid that is otherwise right."""
    for i, row in enumerate(key.cells):
        for j, cell in enumerate(row):
            for mistake, value in numeric.iter_mistakes(cell):
                why = f"the mistake '{mistake.id}' at {key.rows[i]} / {key.titles[j]}"
                yield _sample_with(key, i, j, value, mistake.credit, why, mistake=mistake.id)


kinds.add("table")(TableKind())
