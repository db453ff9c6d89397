"""The list of students: which of them, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from grader.model.result import Row, Standing
from grader.web.desk.calls import DeskCall

ORDERS: Mapping[str, Callable[[Row], Any]] = {
    "points": lambda row: (row.total is None, row.total or 0.0),
    "open marks": lambda row: -row.unsettled,
    "section": lambda row: row.student.section,
}
"""Other orders than that of the names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """What the reader chose; empty for everything."""

    section: str = ""
    standing: str = ""
    order: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> ListFilter:
        """Returns the filter in the query of an address."""
        return cls(**{field.name: query.get(field.name, "") for field in fields(cls)})

    def address_ordered_by(self, order: str) -> str:
        """Returns the address of the same list, sorted by *order*."""
        chosen = {k: v for k, v in asdict(replace(self, order=order)).items() if v}
        return f"/students?{urlencode(chosen)}" if chosen else "/students"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentList:
    """The students that a filter leaves, and what there is to choose."""

    rows: tuple[Row, ...]
    every: int
    sections: tuple[str, ...]
    standings: tuple[str, ...]
    chosen_filter: ListFilter


def student_list(call: DeskCall) -> StudentList:
    """Returns the list for one reader. Readers who see no names see no sections either."""
    names, wanted = call.names, ListFilter.from_query(call.request.query_params)
    all_rows = call.desk.rows(call.book, names)
    standings = {row.standing for row in all_rows}
    sections = set() if names.secret else {row.student.section for row in all_rows} - {""}
    rows = [
        row
        for row in all_rows
        if wanted.section in ("", row.student.section if not names.secret else "")
        and wanted.standing in ("", row.standing.value)
    ]
    if wanted.order in ORDERS and not (names.secret and wanted.order == "section"):
        rows.sort(key=ORDERS[wanted.order])  # stable, so equal ones stay in the order of names
    return StudentList(
        rows=tuple(rows),
        every=len(all_rows),
        sections=tuple(sorted(sections)),
        standings=tuple(standing.value for standing in Standing if standing in standings),
        chosen_filter=wanted,
    )
