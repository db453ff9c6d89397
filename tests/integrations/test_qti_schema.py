"""Packages of QTI against the DTD that IMS published, and our own grammar against it, too."""

from __future__ import annotations

import copy
import io
import random
import xml.etree.ElementTree as ET
import zipfile

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.errors import SetupError
from grader.integrations.lms.quizzes.qti import Qti
from grader.integrations.lms.variants import make_quiz, quiz_question
from grader.integrations.quiz_items import quiz_items
from grader.model import Part
from grader.model.quiz import Quiz
from tests.helpers.kinds import (
    a_choice,
    a_key,
    a_matching,
    a_multi_choice,
    a_numeric,
    a_short_text,
    a_table,
    a_true_false,
    an_explanation,
)
from tests.helpers.qti_reader import GRAMMAR, NEEDED, QTI, TEXTS, check
from tests.helpers.quizzes import a_field, a_quiz, an_asked, asked_parts, numbered, quiz_problems
from tests.helpers.real_tools import qti_dtd

etree = pytest.importorskip("lxml.etree", reason="lxml validates by the DTD")


@pytest.fixture(scope="module")
def dtd():
    with qti_dtd().open("rb") as file:
        return etree.DTD(file)


def assessment(quiz: Quiz) -> ET.Element:
    with zipfile.ZipFile(io.BytesIO(Qti(leave_out=True).export(quiz).files["exam.zip"])) as archive:
        (name,) = (n for n in archive.namelist() if n.count("/") == 1 and n.endswith(".xml")
                   and "meta" not in n)  # fmt: skip
        return ET.fromstring(archive.read(name))


def broken_rules(dtd, root: ET.Element) -> str:
    """What the DTD says of it. A DTD knows no namespaces, and none of what an extension holds."""
    tree = etree.fromstring(ET.tostring(root))
    tree.attrib.clear()  # where the schema is
    for element in list(tree.iter()):
        name = etree.QName(element).localname
        if name.endswith("_extension"):
            del element[:]
        element.tag = name
    etree.cleanup_namespaces(tree)
    return "" if dtd.validate(tree) else str(dtd.error_log.last_error)


def a_package(part: Part) -> ET.Element:
    key = a_key(part)
    worth = float(len(quiz_items(key)))
    return assessment(a_quiz([an_asked(a_field(key, worth))]))


FITTING = asked_parts("ordering")


@pytest.mark.thorough
@pytest.mark.parametrize("part", FITTING, ids=numbered(FITTING))
def test_every_kind_is_valid(part: Part, dtd) -> None:
    try:
        package = a_package(part)
    except SetupError as refused:
        assert "can't ask any part" in refused.what
        return
    assert broken_rules(dtd, package) == ""


def a_whole_package() -> ET.Element:
    """With groups of variants, questions alone, feedback and an essay."""
    keys = [a_key(p) for p in (a_numeric(), a_true_false(), an_explanation())]
    fields = [a_field(key, 1, letter) for key, letter in zip(keys, "abc", strict=True)]
    return assessment(a_quiz([an_asked(*fields, variant=n) for n in (1, 2)], [an_asked(*fields)]))


@pytest.mark.thorough
def test_groups_of_variants_are_valid(dtd) -> None:
    root = a_whole_package()
    assert len(root.findall(f".//{QTI}selection_number")) == 3
    assert broken_rules(dtd, root) == ""


@pytest.mark.thorough
def test_the_midterm_is_valid(dtd) -> None:
    assert broken_rules(dtd, assessment(make_quiz(Bank.open(()), "midterm", 2, "x"))) == ""


@pytest.mark.thorough
def test_every_problem_of_the_bank_is_valid(dtd) -> None:
    bank, found = Bank.open(()), 0
    for name in quiz_problems():
        problem = bank.problem(name)
        variant = draw(problem, sample_seed(name, 3), bank.facts)
        asked = quiz_question(variant, {part.id: part.points for part in problem.parts}, 1)
        try:
            root = assessment(a_quiz([asked]))
        except SetupError:
            continue  # with not a single part that Canvas can ask
        found += 1
        assert broken_rules(dtd, root) == "", name
    assert found > 10


# Our own grammar, by which packages are read where the DTD can't be had


@pytest.mark.thorough
def test_our_grammar_needs_what_the_dtd_needs(dtd) -> None:
    real = {element.name: element for element in dtd.iterelements()}
    for name in {*GRAMMAR, *TEXTS, "selection_extension"}:
        required = {a.name for a in real[name].iterattributes() if a.default == "required"}
        assert NEEDED.get(name, set()) >= required, name  # a title is Canvas's own wish
        assert real[name].type == "mixed" or name not in TEXTS, name


def changed(root: ET.Element, dice: random.Random) -> ET.Element:
    """The same with one element gone, doubled, moved or renamed, or without an attribute."""
    made = copy.deepcopy(root)
    parents = [e for e in made.iter() if len(e) and "extension" not in e.tag]
    parent = dice.choice(parents)
    at = dice.randrange(len(parent))
    child = parent[at]
    match dice.randrange(5):
        case 0:
            del parent[at]
        case 1:
            parent.insert(at, copy.deepcopy(child))
        case 2:
            del parent[at]
            parent.insert(dice.randrange(len(parent) + 1), child)
        case 3:
            child.tag = QTI + dice.choice(sorted({*GRAMMAR, *TEXTS}))
        case _:
            for name in list(child.keys()):
                del child.attrib[name]
    return made


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_what_our_grammar_accepts_the_dtd_accepts(seed: int, dtd) -> None:
    """And most of what is broken is found by both: neither is a check that lets all pass."""
    dice = random.Random(seed)
    roots = [a_whole_package(), *(a_package(p) for p in (a_choice(), a_matching(), a_table()))]
    roots += [a_package(p) for p in (a_multi_choice(), a_short_text())]
    refused = 0
    for _ in range(250):
        root = changed(dice.choice(roots), dice)
        said = broken_rules(dtd, root)
        try:
            check(root)
        except (AssertionError, KeyError):
            refused += bool(said)
        else:
            assert said == ""
    assert refused > 60
