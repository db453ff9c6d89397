"""What is said of one code cell: the same words wherever it is told."""

from __future__ import annotations

import pytest

from grader.model import CellRun, Outcome


@pytest.mark.parametrize(
    ("outcome", "error", "line", "said"),
    [
        (Outcome.FINISHED, "NameError: x", 2, "code cell 4, line 2: NameError: x"),
        (Outcome.FINISHED, "NameError: x", None, "code cell 4: NameError: x"),
        (Outcome.OUT_OF_MEMORY, None, None, "code cell 4: out of memory"),
        (Outcome.TIMEOUT, "ran longer than 1 s", None, "code cell 4: ran longer than 1 s"),
    ],
)
def test_a_cell_that_failed_says_where_and_why(outcome, error, line, said):
    cell = CellRun(index=7, outcome=outcome, seconds=0.1, error=error, line=line)
    assert cell.has_failed
    assert cell.describe_failure(4) == said


def test_a_cell_that_ran_to_its_end_has_no_trouble():
    cell = CellRun(index=7, outcome=Outcome.FINISHED, seconds=0.1, output="NameError: printed")
    assert not cell.has_failed
    assert cell.trouble == ""
