"""Every kind holds to the contract of kinds, and the suite that says so finds what does not."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.kinds import Example, Unreadable, kinds
from grader.kinds.numeric import NumericKey, NumericKind
from grader.kinds.options import AnswerOption
from grader.kinds.short_text import TextMistake
from grader.model import Judgment, Mistake, Part, Raw, Verdict
from grader.testing import check_kind
from tests.helpers.kinds import (
    PARTS,
    a_choice,
    a_draw,
    a_key,
    a_multi_choice,
    a_numeric,
    a_short_text,
    a_true_false,
    judged,
)


@pytest.mark.parametrize("part", PARTS, ids=[f"{i}-{p.kind}" for i, p in enumerate(PARTS)])
def test_every_kind_holds_to_its_contract(part: Part) -> None:
    for seed in range(5):
        check_kind(kinds.find(part.kind), a_key(part, seed))


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
tags = st.sampled_from(
    ["int", "float", "bool", "none", "ellipsis", "complex", "str", "list", "set", "dict", "array",
     "object", "?"]
)  # fmt: skip
raws = st.recursive(
    leaves | st.fixed_dictionaries({"t": tags}, optional={"v": leaves, "digits": leaves}),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries(
            {"t": tags}, optional={"v": inner | st.lists(inner, max_size=4), "shape": inner}
        )
    ),
    max_leaves=12,
).filter(lambda raw: isinstance(raw, dict))


KEYS = {part.kind: a_key(part) for part in reversed(PARTS)}


def heard(name: str, raw: Raw) -> tuple[str, float]:
    """What the student is told of an answer, and what it earns."""
    kind, key = kinds.find(name), KEYS[name]
    try:
        value = kind.read(raw, key)
    except Unreadable as reason:
        return reason.sentence, 0.0
    return kind.format_value(value, key), kind.judge(value, key).share or 0.0


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(kinds))
@given(raw=raws)
@settings(max_examples=150)
def test_a_forged_answer_is_read_or_refused_and_nothing_else(name: str, raw: Raw) -> None:
    told, share = heard(name, raw)
    assert len(told.splitlines()) == 1
    assert 0 <= share <= 1


def test_every_registered_kind_is_tried() -> None:
    assert {part.kind for part in PARTS} == set(kinds)


def test_a_kinds_spec_names_itself() -> None:
    for name in kinds:
        fields = {f.name: f.default for f in dataclasses.fields(kinds.find(name).spec)}
        assert fields["kind"] == name


class Broken(NumericKind):
    """A kind with one defect, chosen by name."""

    def __init__(self, defect: str):
        self.defect = defect

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        if self.defect == "raises on nonsense" and not raw:
            raise KeyError("t")
        if self.defect == "takes the placeholder" and raw.get("t") == "ellipsis":
            return 0
        if self.defect == "changes its input" and isinstance(raw, dict):
            raw["read"] = True
        return super().read(raw, key)

    def judge(self, value: float, key: NumericKey) -> Judgment:
        if self.defect == "gives too much":
            return Judgment(share=1.5, verdict=Verdict.CORRECT)
        if self.defect == "gives too little":
            return Judgment(share=0.5, verdict=Verdict.CORRECT)
        if self.defect == "is not pure":
            self.defect = "is not pure "
            return Judgment(share=0.0, verdict=Verdict.INCORRECT)
        return super().judge(value, key)

    def format_value(self, value: float, key: NumericKey) -> str:
        said = super().format_value(value, key)
        return f"{said}\n" + said if self.defect == "says two lines" else said

    def instructions(self, key: NumericKey) -> str:
        how = super().instructions(key)
        return f"{how}, such as {key.value!r}" if self.defect == "tells the key" else how

    def answer(self, key: NumericKey) -> object:
        return 1e9 if self.defect == "solves it wrongly" else super().answer(key)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        samples = super().examples(key)
        if self.defect == "has no wrong sample":
            return tuple(s for s in samples if s.share in (None, 1))
        if self.defect == "declares another share":
            wrong = Example(raw={"t": "int", "v": "123"}, share=0.5, why="half right")
            return (*samples, wrong)
        return samples


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        ("gives too much", "earns 1.5"),
        ("gives too little", "is judged correct, but earns 0.5"),
        ("is not pure", "two ways"),
        ("says two lines", "format_value.. gives"),
        ("tells the key", "the key [0-9.]+ appears in"),
        ("solves it wrongly", "the right answer 1000000000.0 earns"),
        ("has no wrong sample", "none is wrong"),
        ("declares another share", "half right"),
        ("takes the placeholder", "an ellipsis .* is readable"),
        ("changes its input", "changed"),
    ],
)
def test_the_suite_finds_a_kind_with_a_defect(defect: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_kind(Broken(defect), a_key(a_numeric()))


def test_the_suite_lets_no_other_error_than_unreadable_pass() -> None:
    with pytest.raises(AssertionError, match=r"raises KeyError instead of Unreadable for \{\}"):
        check_kind(Broken("raises on nonsense"), a_key(a_numeric()))


def test_letters_depend_on_the_variant_and_texts_do_not() -> None:
    def shown(seed: int) -> Iterator[tuple[str, str]]:
        return (
            (c.letter, c.text) for c in kinds.find("choice").key(a_choice(), a_draw(seed)).choices
        )

    variants = {tuple(shown(seed)) for seed in range(20)}
    assert len(variants) > 5
    assert len({frozenset(text for _, text in variant) for variant in variants}) == 1


DIVIDING = "That is {{ 1 / earlier }}."


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        (a_numeric(mistakes=(Mistake(id="m", value="weights", feedback=DIVIDING),)), 14),
        (a_numeric(mistakes=(Mistake(id="m", value="weights / earlier", feedback="x"),)), 1.7),
        (
            a_choice(
                options=(
                    AnswerOption(text="x", correct=True),
                    AnswerOption(text="y", feedback=DIVIDING),
                )
            ),
            "y",
        ),
        (
            a_multi_choice(
                options=(AnswerOption(text="x"), AnswerOption(text="y", feedback=DIVIDING))
            ),
            ["y"],
        ),
        (a_true_false(feedback=DIVIDING), False),
        (a_short_text(mistakes=(TextMistake(id="m", accept=("x",), feedback=DIVIDING),)), "x"),
        (a_short_text(mistakes=(TextMistake(id="m", accept=(DIVIDING,), feedback="y"),)), "x"),
    ],
)
def test_a_students_earlier_zero_never_breaks_the_judge(part: Part, wrong: object) -> None:
    assert judged(a_key(part, earlier=0), wrong).share == 0
    with pytest.raises(ValueError, match="zero"):
        kinds.find(part.kind).examples(a_key(part, earlier=0))


def test_the_documented_kind_of_eight_members_holds_to_the_contract() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "extend.md"
    section = page.read_text("utf-8").split("## A kind of answer")[1].split("\n## ")[0]
    space: dict[str, Any] = {"__name__": __name__}
    for code in re.findall(r"```python\n(.*?)```", section, re.S):
        exec(code, space)
    space["test_the_kind_satisfies_its_contract"]()
    members = {n for n in vars(space["ParityKind"]) if not n.startswith("_")}
    assert len(members) == 8
