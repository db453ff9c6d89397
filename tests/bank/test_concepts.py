"""Which parts of a problem examine a concept, and what counts as examined."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grader.bank.coverage import Coverage, coverage
from grader.bank.folders import Bank
from grader.cli.bank_commands import _print_coverage
from tests.helpers.banks import SPEC, a_bank
from tests.helpers.commands import ok, run

INVENTORY = """\
a-01: {family: memory-math, topic: sharding, sentence: "Each GPU holds a share."}
a-02: {family: memory-math, topic: bounds, sentence: "A bound holds for every size."}
"""
SET = """\
id: quiz
title: A quiz
problems:
  - {problem: sample, parts: [share]}
"""


def a_mapped_bank(folder: Path, concepts: str, exam: str = SET) -> Path:
    bank = a_bank(folder, SPEC.replace("concepts: []", f"concepts: {concepts}"), exam=exam)
    (bank / "problems/concepts.yaml").write_text(INVENTORY)
    return bank


def test_a_set_examines_only_the_concepts_of_the_parts_that_it_asks(tmp_path: Path) -> None:
    bank = a_mapped_bank(tmp_path, "{a-01: [share], a-02: [bound]}")
    found = json.loads(ok("show", "quiz", "--json", "--bank", bank).output)
    assert found["concepts"] == ["a-01"]
    assert found["entries"][0]["groups"][0]["concepts"] == ["a-01"]


def test_without_named_parts_every_part_examines_all_concepts(tmp_path: Path) -> None:
    bank = a_mapped_bank(tmp_path, "[a-01, a-02]")
    found = json.loads(ok("show", "quiz", "--json", "--bank", bank).output)
    assert found["concepts"] == ["a-01", "a-02"]
    assert coverage(Bank.open([bank])).problems == {
        "a-01": {"sample": ("share", "bound")},
        "a-02": {"sample": ("share", "bound")},
    }


def test_coverage_says_if_no_concept_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    concepts = {"a-01": {"family": "memory-math", "topic": "sharding"}}
    found = Coverage(concepts=concepts, problems={}, unknown_concepts={})
    _print_coverage(found, missing=True)
    assert "Not examined by any problem:\n  a-01  sharding\n" in capsys.readouterr().out
    _print_coverage(replace(found, problems={"a-01": {"sample": ("share",)}}), missing=True)
    assert capsys.readouterr().out.endswith("Every concept is examined by at least one problem.\n")


def test_coverage_and_list_name_the_parts(tmp_path: Path) -> None:
    bank = a_mapped_bank(tmp_path, "{a-01: [share, bound], a-02: [bound]}")
    covered = json.loads(ok("coverage", "--json", "--bank", bank).output)
    assert covered["parts"] == {
        "a-01": {"sample": ["share", "bound"]},
        "a-02": {"sample": ["bound"]},
    }
    (listed,) = json.loads(ok("list", "--json", "--bank", bank).output)
    assert listed["concepts"] == ["a-01", "a-02"]
    assert [part["concepts"] for part in listed["parts"]] == [["a-01"], ["a-01", "a-02"]]


@pytest.mark.parametrize(
    ("concepts", "what", "fix"),
    [
        ("{a-01: [bond]}", "there is no part 'bond'", "did you mean 'bound'?"),
        ("{a-01: [quark]}", "there is no part 'quark'", "the parts: bound, share"),
        ("{a-01: []}", "no part examines 'a-01'", "such as 'a-01: [share]'"),
    ],
)
def test_a_concept_that_no_part_examines_is_an_error_with_its_line(
    tmp_path: Path, concepts: str, what: str, fix: str
) -> None:
    bank = a_mapped_bank(tmp_path, concepts)
    for command in (("list",), ("verify", "sample")):
        result = run(*command, "--bank", bank)
        said = result.stdout + result.stderr
        assert result.return_value == 1, command
        assert what in said
        assert fix in said
        line = SPEC.splitlines().index("concepts: []") + 1
        assert f"sample.yaml:{line}:" in said
