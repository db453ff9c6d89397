"""CSV tables as spreadsheets save them, and texts in formulas."""

from __future__ import annotations

import pytest

from grader.text.csv_table import parse_rows
from grader.text.mathml import formula_html


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('"Student, full";id\nada;1\n', [(1, ["Student, full", "id"]), (2, ["ada", "1"])]),
        ("sep=;\r\nid;name, full\r\n1;ada\r\n", [(2, ["id", "name, full"]), (3, ["1", "ada"])]),
        ("id,name\n", [(1, ["id", "name"])]),
        ("", [(1, [])]),
    ],
)
def test_a_delimiter_is_stated_or_found_outside_quotes(
    text: str, rows: list[tuple[int, list[str]]]
) -> None:
    assert parse_rows(text, "class.csv") == rows


def test_a_text_in_a_formula_has_no_escapes() -> None:
    assert "<mtext>5%,a_b</mtext>" in formula_html(r"\text{5\%,a\_b}")
