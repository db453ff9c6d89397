"""Hidden cases and expected results are made once and kept: scoring runs no solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.bank.folders import Bank
from grader.draw import paper
from grader.gradebook import Gradebook
from grader.grading.kept_marks import rescore_evidence, score_safely
from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.hidden import solutions
from grader.model import Answer, Evidence, Grade, Outcome, Paper, Release, Student, Submission
from grader.release.file import new_release, release_bytes
from grader.release.papers import Papers, papers_of
from grader.release.pins import Pins
from grader.release.sealed import PackKey

SET = """
id: quiz
title: Quiz
problems: [online-softmax, kv-cache-size]
"""
SHA256 = "5" * 64


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    path = tmp_path_factory.mktemp("sets") / "quiz.yaml"
    path.write_text(SET)
    bank = Bank.open()
    return new_release(bank, bank.exam(str(path)), (Student(id="ada"),), b"k" * 32)


@pytest.fixture(scope="module")
def evidence(release: Release) -> Evidence:
    mine = paper(release, release.students["ada"])
    return Evidence(
        submission_sha256=SHA256,
        outcome=Outcome.FINISHED,
        answers={name: Answer(name=name, raw=raw) for name, raw in raws(mine).items()},
        cells=(),
        seconds=1.0,
        environment={"python": "3.x"},
    )


def raws(mine: Paper) -> Mapping[str, Any]:
    found = {}
    for name, key in mine.named_keys():
        kind = kinds.find(key.part.kind)
        found[name] = next(one.raw for one in kind.examples(key) if one.share == 1)
    return found


@pytest.fixture
def book(tmp_path: Path, release: Release, evidence: Evidence) -> Any:
    (tmp_path / "release.json").write_bytes(release_bytes(release))
    with Gradebook.open(tmp_path / "results", create=True) as book:
        book.set_setting("release_file", "../release.json")
        book.add_students(release.students.values())
        book.add_submissions([Submission(student="ada", path="ada.ipynb", sha256=SHA256)])
        book.put_evidence(evidence, "test")
        yield book


def score(book: Gradebook, papers: Papers) -> Grade:
    ((student, grade),) = rescore_evidence(book, papers, [("ada", SHA256)])
    assert (student, grade is None) == ("ada", False)
    assert grade is not None
    return grade


@pytest.fixture
def no_authored_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("scoring ran a solution or drew random numbers")

    monkeypatch.setattr(solutions, "run_solution_code", refuse)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    solutions.solution_module.cache_clear()


def test_all_marks_are_right(book: Gradebook, evidence: Evidence, release: Release) -> None:
    grade = score(book, papers_of(book))
    assert grade.score == grade.max_score > 0
    assert grade == score_safely(Papers(release=release).of("ada"), evidence)


def test_scoring_again_runs_no_authored_code(
    book: Gradebook, request: pytest.FixtureRequest
) -> None:
    before = score(book, papers_of(book))
    request.getfixturevalue("no_authored_code")
    assert score(book, papers_of(book)) == before
    keys = [key for _, key in papers_of(book).of("ada").named_keys() if isinstance(key, CodeKey)]
    assert keys
    for key in keys:
        assert key.call_plan("q1_x").digests
        assert key.expected_results


def test_kept_cases_outlive_a_change_of_numpys_streams(
    book: Gradebook, evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = score(book, papers_of(book))
    book.set_setting("anything", 1)  # writes what was kept
    make = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: make(seed + 1))
    assert score_safely(papers_of(book).of("ada"), evidence).marks == before.marks
    anew = score_safely(Papers(release=papers_of(book).release).of("ada"), evidence)
    assert any(mark.points is None for mark in anew.marks)  # as it was without pins


def test_a_correction_judges_only_what_it_changes(
    book: Gradebook, release: Release, request: pytest.FixtureRequest
) -> None:
    before = score(book, papers_of(book))
    request.getfixturevalue("no_authored_code")
    old = release.problems["kv-cache-size"]
    worth_more = replace(
        old, parts=tuple(replace(part, points=part.points + 1) for part in old.parts)
    )
    corrected = replace(
        release,
        id="other",
        problems={**release.problems, old.id: worth_more},
        digests={**release.digests, old.id: "other"},
    )
    after = score(book, replace(papers_of(book), correction=corrected))
    assert after.score == before.score + len(old.parts)


def test_missing_or_damaged_evidence_is_not_replaced_by_kept_marks(book: Gradebook) -> None:
    score(book, papers_of(book))
    (path,) = (book.folder / "evidence").glob("*.json.gz")
    path.write_bytes(path.read_bytes()[:-1])
    assert list(rescore_evidence(book, papers_of(book), [("ada", SHA256)])) == [("ada", None)]
    assert list(rescore_evidence(book, papers_of(book), [("ada", "6" * 64)])) == [("ada", None)]


def test_what_belongs_to_a_sealed_release_is_kept_sealed(
    book: Gradebook, release: Release, request: pytest.FixtureRequest
) -> None:
    pins = Pins(book, release.id, PackKey(b"s" * 32))
    assert pins("digest", lambda: ["a hidden input"]) == ["a hidden input"]
    (kept,) = book.derived.find(["digest/sealed"]).values()
    assert kept.startswith(b"\x89GRPACK")
    assert pins("digest", list) == ["a hidden input"]


def test_a_gradebook_without_the_table_gets_it(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path, create=True) as book, book._engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE derived")
        connection.exec_driver_sql("UPDATE schema_version SET version = 1")
    with Gradebook.open(tmp_path) as book:
        book.derived.keep({"a": b"1"})
        book.set_setting("x", 1)
        assert book.derived.find(["a", "b"]) == {"a": b"1"}
