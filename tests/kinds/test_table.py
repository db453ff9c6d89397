"""Tables: a grid of numbers in which each cell is judged alone."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.kinds import Unreadable, kinds
from grader.kinds.answers import answer_as_python
from grader.kinds.cells import missing_parts
from grader.kinds.slips import Slips
from grader.kinds.table import Column
from grader.model import Mistake, Tolerance, Verdict
from grader.notebook.render.answer_cells import placeholder
from grader.wire.encoding import encode_answer
from tests.helpers.kinds import a_key, a_table, is_blank, judged, refused, said

TABLE = kinds.find("table")
KEY = a_key(a_table())
# Weights in GB and time in ms for 2, 4 and 8 GPUs.
RIGHT = {2: [7, 2.0896], 4: [3.5, 1.0448], 8: [1.75, 0.5224]}


def with_cell(row: int, column: int, value: object) -> dict[int, list[object]]:
    """The right grid but for one cell."""
    grid: dict[int, list[object]] = {n: list(cells) for n, cells in RIGHT.items()}
    grid[row][column] = value
    return grid


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT,
        {str(n): cells for n, cells in RIGHT.items()},
        {float(n): tuple(cells) for n, cells in RIGHT.items()},
        {np.int64(n): np.array(cells) for n, cells in RIGHT.items()},
        dict(reversed(RIGHT.items())),
        list(RIGHT.values()),
        tuple(tuple(cells) for cells in RIGHT.values()),
        np.array(list(RIGHT.values())),
        {2: ["7000 MB", "2.0896"], 4: ["28 Gb", "1044.8 us"], 8: ["1.63 GiB", 0.5224]},
    ],
)
def test_a_grid_is_read_by_row_or_in_the_rows_order(answer: object) -> None:
    judgment = judged(KEY, answer)
    assert (judgment.verdict, judgment.share) == (Verdict.CORRECT, 1)


def test_the_grid_is_said_row_by_row() -> None:
    assert said(KEY, RIGHT) == "2: 7 GB, 2.0896 ms; 4: 3.5 GB, 1.0448 ms; 8: 1.75 GB, 0.5224 ms"
    assert said(KEY, {2: [7, ...]}).startswith("2: 7 GB, blank; 4: blank, blank")
    assert said(KEY, {2: [7, "?"]}).startswith("2: 7 GB, unreadable")


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(99.5, "incorrect"), (..., "absent"), (None, "absent"), (np.nan, "unreadable"),
     ("two", "unreadable"), ("2 GB", "unreadable"), (True, "unreadable"), ([1], "unreadable")],
)  # fmt: skip
def test_a_cell_costs_only_itself(value: object, verdict: str) -> None:
    judgment = judged(KEY, with_cell(4, 1, value))
    assert judgment.share == pytest.approx(5 / 6)
    assert judgment.verdict is Verdict.PARTIAL
    assert judgment.cells["4 / time"] == verdict
    assert list(judgment.cells.values()).count("correct") == 5


def test_an_unreadable_cell_is_named_with_its_reason() -> None:
    note = judged(KEY, with_cell(4, 1, np.nan)).note
    assert note.startswith("5 of 6 cells are right. 4 / time: The answer is NaN")
    assert note.endswith("give a number in ms.")


def test_what_is_missing_or_unreadable_is_counted() -> None:
    key = a_key(a_table())
    grid = {2: [1.0, "many"], 4: [..., 0.5], 8: [1.0, 1.0]}
    value = kinds.find("table").read(encode_answer(grid), key)
    said = missing_parts(value)
    assert said.startswith("1 of 6 cells is blank; 1 of 6 cells can't be read: 'many' is not")


def test_a_row_may_be_short_or_missing_but_not_long() -> None:
    assert judged(KEY, {2: [7, 2.0896], 4: [3.5]}).share == pytest.approx(3 / 6)
    assert judged(KEY, {8: RIGHT[8]}).share == pytest.approx(2 / 6)
    judgment = judged(KEY, {**RIGHT, 2: [7, 2.0896, 1]})
    assert judgment.share == pytest.approx(4 / 6)
    assert "Each row must be a list of 2" in judgment.note


def test_rows_that_do_not_exist_make_the_grid_unreadable() -> None:
    assert refused(KEY, {**RIGHT, 16: [1, 1]}) == 'There is no row "16"; the rows are 2, 4, 8.'
    assert "has 4 rows" in refused(KEY, [*RIGHT.values(), [1, 1]])


@pytest.mark.parametrize("answer", [7, "7", None, True, {1, 2}, len, [7, 2, 3]])
def test_what_is_no_grid_is_unreadable(answer: object) -> None:
    assert refused(KEY, answer)
    assert not is_blank(KEY, answer)


def test_the_untouched_grid_is_blank() -> None:
    blank = placeholder(KEY)
    assert blank == (
        "{\n"
        "    # n: [weights in GB, time in ms]\n"
        "    2: [..., ...],\n"
        "    4: [..., ...],\n"
        "    8: [..., ...],\n"
        "}"
    )
    assert is_blank(KEY, ast.literal_eval(blank))
    assert is_blank(KEY, [])
    assert is_blank(KEY, {2: ...})


def test_a_mistake_in_a_cell_names_itself_and_keeps_its_credit() -> None:
    judgment = judged(KEY, with_cell(4, 0, 14))
    assert judgment.mistake == "not-sharded"
    assert judgment.share == pytest.approx((5 + 0.25) / 6)
    assert judgment.cells["4 / weights"] == "mistake"
    assert "4 / weights: All of it; divide by 16." in judgment.note


def test_the_same_mistake_in_every_row_is_said_once() -> None:
    judgment = judged(KEY, {n: [14, ...] for n in RIGHT})
    assert judgment.share == pytest.approx(3 * 0.25 / 6)
    assert judgment.note.count("All of it") == 1
    assert "2 / weights, 4 / weights, 8 / weights: All" in judgment.note


def test_a_grid_of_slips_alone_is_a_mistake() -> None:
    judgment = judged(KEY, {n: ["...", t / 1000] for n, (_, t) in RIGHT.items()})
    assert (judgment.verdict, judgment.mistake) == (Verdict.MISTAKE, "slip-prefix")
    assert judgment.share == 0


def test_slips_of_a_column_can_earn_something_or_be_turned_off() -> None:
    def share(slips: object) -> float | None:
        column = Column(id="c", title="c", answer="n * GB", unit="GB", slips=slips)  # type: ignore[arg-type]
        return judged(a_key(a_table(columns=(column,))), [[2000], [4], [8]]).share

    assert share(Slips(credit=0.5)) == pytest.approx(2.5 / 3)
    assert share(False) == pytest.approx(2 / 3)


def test_each_column_has_its_own_tolerance() -> None:
    columns = (
        Column(id="exact", title="exact", answer="n", tolerance=Tolerance(absolute=0)),
        Column(id="rough", title="rough", answer="n", tolerance=Tolerance(factor=2)),
    )
    key = a_key(a_table(columns=columns))
    assert judged(key, [[2, 3.9], [4.01, 2.1], [8, 8]]).cells == {
        "2 / exact": "correct",
        "2 / rough": "correct",
        "4 / exact": "incorrect",
        "4 / rough": "correct",
        "8 / exact": "correct",
        "8 / rough": "correct",
    }


def test_a_row_of_one_column_may_be_a_bare_number() -> None:
    key = a_key(a_table(columns=(Column(id="c", title="c", answer="n"),)))
    assert judged(key, {2: 2, 4: 4, 8: [8]}).share == 1
    assert judged(key, [2, 4, 8]).share == 1


def test_rows_may_be_quantities_and_are_then_written_as_texts() -> None:
    columns = (Column(id="c", title="messages", answer="n / (1 * MB)"),)
    key = a_key(a_table(rows=("1 * MB", "1 * GB"), columns=columns))
    assert '"1 MB": [...],' in placeholder(key)
    assert judged(key, {"1 MB": [1], "1 gb": [1000]}).share == 1


def test_the_row_has_its_name_in_expressions_and_feedback() -> None:
    assert a_table().local_names() == ("n",)
    mistake = Mistake(id="m", value="100 * n", feedback="{{ n }} of them.")
    columns = (Column(id="c", title="c", answer="n", mistakes=(mistake,), slips=False),)
    judgment = judged(a_key(a_table(columns=columns)), [[2], [400], [8]])
    assert "4 / c: 4 of them." in judgment.note


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": ()}, "at least one row"),
        ({"columns": ()}, "at least one row"),
        ({"rows": (2, "gpus / 8")}, "same label"),
        ({"columns": (Column(id="c", title="c", answer="n", unit="GB"),)}, "dimension"),
    ],
)
def test_a_table_that_cannot_be_filled_in_is_the_authors_error(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        a_key(a_table(**changes))


def test_every_cells_mistake_is_among_the_examples() -> None:
    found = [s for s in TABLE.examples(KEY) if s.mistake == "not-sharded"]
    assert len(found) == 3
    hidden = Mistake(id="hidden", value="2 * weights", feedback="x", when="n > 4")
    columns = (Column(id="c", title="c", answer="weights / n", unit="GB", mistakes=(hidden,)),)
    key = a_key(a_table(columns=columns))
    assert [s.why for s in TABLE.examples(key) if s.mistake] == ["the mistake 'hidden' at 8 / c"]


def test_the_explanation_is_a_table_of_intervals() -> None:
    lines = TABLE.explain(KEY).splitlines()
    assert lines[2:4] == ["| n | weights | time |", "|---|---|---|"]
    assert lines[4].startswith(
        "| 2 | **7 GB**; accepted from 6.93 to 7.07 GB (within 1% of the key) |"
    )


def test_a_title_with_a_bar_does_not_break_the_explanation() -> None:
    columns = (Column(id="c", title="a|b", answer="n"),)
    assert "a\\|b" in TABLE.explain(a_key(a_table(columns=columns)))


def test_solutions_return_rows_in_order() -> None:
    assert TABLE.judge(TABLE.read_solution(list(RIGHT.values()), KEY), KEY).share == 1
    for wrong in (7, {16: [7, 2]}, [[7, 2]] * 4):
        with pytest.raises(ValueError, match=r"row|give"):
            TABLE.read_solution(wrong, KEY)


@given(
    st.lists(
        st.lists(st.floats() | st.none() | st.just(...) | st.text(max_size=5), max_size=2),
        max_size=3,
    )
)
def test_every_grid_earns_the_mean_of_its_cells(rows: list[list[object]]) -> None:
    with contextlib.suppress(Unreadable):
        judgment = judged(KEY, rows)
        right = list(judgment.cells.values()).count("correct")
        assert len(judgment.cells) == 6
        assert right / 6 - 1e-6 <= (judgment.share or 0) <= (right + 3 * 0.25) / 6 + 1e-6


def test_labels_with_leading_zeros_are_texts_in_python() -> None:
    key = a_key(
        a_table(rows=("'01'", "'10'", "'0'"), columns=(Column(id="c", title="c", answer=1),))
    )
    assert ast.literal_eval(placeholder(key)) == {"01": [...], 10: [...], 0: [...]}
    assert judged(key, {"01": [1], 10: [1], 0: [1]}).share == 1
    assert answer_as_python(TABLE, key).count('"') == 2


def test_one_cell_and_one_column_are_in_the_singular() -> None:
    assert judged(KEY, {2: [7]}).note.startswith("1 of 6 cells is right.")
    column = a_key(a_table(columns=(Column(id="c", title="c", answer="n"),)))
    assert "Each row must be one number." in judged(column, {2: [2, 3], 4: 4}).note
