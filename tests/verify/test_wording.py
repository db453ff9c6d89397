"""The style check finds what the style guide names, where it stands, and nothing in code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.bank.yaml12 import parse_yaml
from grader.verify.wording import find_wording
from tests.helpers.banks import SOLUTION, SPEC, a_bank
from tests.helpers.commands import run

PROBLEM = """\
id: sample
title: A sample
parameters:
  layers: {{choice: [2, 4], label: Layers}}
  shards: {{choice: [2, 4], label: Shards, shown: false}}
prompt: |
  {prompt}
parts:
  - id: size
    kind: {kind}
    ask: {ask}
"""


def found(
    prompt: str = "A model.", ask: str = "What is its size?", kind: str = "numeric"
) -> list[str]:
    source = parse_yaml(PROBLEM.format(prompt=prompt, ask=ask, kind=kind).encode(), "sample.yaml")
    return [str(finding) for finding in find_wording("sample", source)]


@pytest.mark.parametrize(
    ("phrase", "advice"),
    [
        ("The weights are quantised.", "spell it with z"),
        ("An analysed trace.", "analyze"),
        ("The neighbours exchange halos.", "neighbor"),
        ("The speed-up is 2.", "speedup"),
        ("It hangs on the bandwidth.", "depends on"),
        ("The runner counts the calls.", "the grader"),
        ("See the table in the second part.", "part (b)"),
    ],
)
def test_a_phrase_is_reported_with_its_place_and_advice(phrase: str, advice: str) -> None:
    (finding,) = found(prompt=phrase)
    assert finding.startswith("sample.yaml:6:9: ")
    assert advice in finding


def test_sound_text_code_and_formulas_are_not_reported() -> None:
    assert not found("A raised exponent, otherwise a promise: 3 precise rises of noise.")
    assert not found("`quantise` and $colour$ are names in a program.")


def test_which_needs_a_list() -> None:
    assert found(ask="Which share of the time is it idle?")
    assert not found(ask="Which share of the time is it idle?", kind="choice")
    assert not found(ask="In which order do they run?")


def test_a_number_stands_in_the_prompt_or_in_the_table() -> None:
    (finding,) = found("A model with {{ layers }} layers and {{ shards }} shards.")
    assert '"layers"' in finding
    assert "shown: false" in finding


def test_the_command_reports_wording_only_if_asked(tmp_path: Path) -> None:
    spec = SPEC.replace("prompt: |\n", "prompt: |\n  It hangs on the number of GPUs.\n", 1)
    bank = a_bank(tmp_path, spec, SOLUTION)
    options = ("verify", "sample", "--bank", bank, "--seeds", 30, "--no-kernel", "--no-cache")
    assert run(*options).return_value == 0
    asked = run(*options, "--style")
    assert asked.return_value == 1
    assert '"hangs on" [wording]\n  fix: depends on' in asked.output
    data = json.loads(run(*options, "--style", "--json").output)
    assert {finding["check"] for finding in data["style"]} == {"wording"}
    assert data["holds"] is False
