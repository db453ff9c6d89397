"""The search for leaks, where what stands beside a name is odd: it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.leaks import SIZE, Course, said, write


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return Course(tmp_path_factory.mktemp("course"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "value",
    [
        f"(0x{'f' * 280} + 1j)",
        f"(1{'0' * 400} + 1j)",
        "({{}},)",
        f"[{'-' * 250}1]",
        f"({'(' * 250}",
    ],
    ids=["too large", "too large and long", "a dict in a set", "too deep", "too many brackets"],
)
def test_a_value_that_can_not_be_evaluated_stops_no_search(
    course: Course, tmp_path: Path, value: str
) -> None:
    write(tmp_path, "a.py", f"{SIZE} = {value}\n")
    write(tmp_path, "b.py", f'# a file\nDATA = "see below"\n\n{said(course)}\n')
    found = course.found(tmp_path)
    assert ("key", "b.py") in {(one.kind, one.path) for one in found.findings}
