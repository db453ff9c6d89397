"""The rows that the desk keeps are those that reading everything again would give."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.grading.sources import rows_of, source_of
from grader.web.desk.class_rows import ClassRows
from tests.helpers.commands import ok
from tests.helpers.desk import a_class


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_class(tmp_path_factory.mktemp("rows"))


@pytest.mark.thorough
def test_rows_follow_every_change_of_another_process(results: Path) -> None:
    mark = ("mark", results, "--student", "s0", "--answer", "q1_why")
    commands = [
        (*mark, "--points", "1", "--why", "a"),
        (*mark, "--points", "2", "--why", "b"),
        (*mark, "--withdraw", "--why", "c"),
        ("score", results, "--bank", results.parent / "bank"),
    ]
    kept, totals = ClassRows(), []
    with Gradebook.open(results) as book:
        for command in [None, *commands]:
            if command:
                ok(*command)
            expected = {row.student.id: row for row in rows_of(book, source_of(book))}
            assert kept.read(book) == expected, command
            totals.append(expected["s0"].score)
    assert len(set(totals)) == 3, "the commands changed something"


def test_one_change_reads_one_student(results: Path) -> None:
    kept = ClassRows()
    with Gradebook.open(results) as book:
        before = kept.read(book)
        ok("mark", results, "--student", "s1", "--answer", "q1_why", "--points", "3", "--why", "a")
        after = kept.read(book)
        read = [id_ for id_ in after if after[id_] is not before[id_]]
    assert read == ["s1"]


def test_an_undone_decision_and_its_return_change_the_signatures(results: Path) -> None:
    with Gradebook.open(results) as book:
        ok("mark", results, "--student", "s2", "--answer", "q1_why", "--points", "3", "--why", "a")
        given = book.answers.signatures()
        assert book.answers.signatures() is given
        ok("mark", results, "--student", "s2", "--answer", "q1_why", "--withdraw", "--why", "b")
        undone = book.answers.signatures()
        assert undone.students["s2"] != given.students["s2"]
        assert undone.students["s1"] == given.students["s1"]


def test_the_log_is_read_in_pages(results: Path) -> None:
    with Gradebook.open(results) as book:
        for number in range(5):
            book.record("tested", by="kim", why=f"100% of no. {number}")
        lines, count = book.audit_log.page("100% OF", start=1, size=2)
        assert ([line.why[-1] for line in lines], count) == (["3", "2"], 5)
        assert book.audit_log.page("100_", start=0, size=9) == ((), 0)
        assert book.audit(after=lines[0].number)[0].why.endswith("4")
