"""Releases, evidence, gradebooks, results and packs that version 0.1 wrote still load and grade.

`fixtures/version-0.1.tar.xz` was made by that version and is never made again: for each of three
sets a release for three students, what they handed in (solved, untouched, and no notebook at all),
and the results; for one set also a sealed pack with its key.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.cli import grader

SETS = ["midterm", "practice", "lab"]
ARCHIVE = Path(__file__).parents[1] / "fixtures" / "version-0.1.tar.xz"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(grader, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def points(results: Path) -> dict[str, dict[str, Any]]:
    """For each student whose notebook could be read, what each part earned."""
    return {
        path.stem: {m["name"]: (m["points"], m["verdict"]) for m in grade["marks"]}
        for path in sorted((results / "grades").glob("*.json"))
        if path.stem != "cyd"
        for grade in [json.loads(path.read_text(encoding="utf-8"))]
    }


@pytest.mark.parametrize("name", SETS)
def test_stored_evidence_is_scored_as_it_was(course: Path, name: str) -> None:
    results = course / name / "results"
    before = points(results)
    assert any(before["ada"].values())
    run("score", results)
    assert points(results) == before


@pytest.mark.thorough
def test_a_release_still_grades_what_was_handed_in(course: Path, tmp_path: Path) -> None:
    there = course / "midterm"
    release = there / "release" / "release.json"
    run("grade", there / "submissions", "--release", release, "--out", tmp_path / "again")
    assert points(tmp_path / "again") == points(there / "results")


@pytest.mark.thorough
def test_a_run_carries_on_in_results_of_before(course: Path) -> None:
    there = course / "practice"
    before = points(there / "results")
    release = there / "release" / "release.json"
    run("grade", there / "submissions", "--release", release, "--out", there / "results")
    assert points(there / "results") == before


def test_the_same_keys_come_out_of_a_release(course: Path) -> None:
    key = json.loads(run("key", course / "lab" / "release", "--student", "ada", "--json"))
    earned = points(course / "lab" / "results")["ada"]
    assert {name: one["points"] for name, one in key.items()} == {
        name: got for name, (got, _) in earned.items()
    }


@pytest.mark.thorough
def test_a_sealed_pack_grades_with_its_key(course: Path, tmp_path: Path) -> None:
    there = course / "midterm"
    pack = ["--pack", there / "exam.pack", "--pack-key-file", there / "pack.key"]
    run("grade", there / "submissions", *pack, "--out", tmp_path / "by-pack")
    assert points(tmp_path / "by-pack") == points(there / "results")
