"""What is known of students is masked in texts; words that only look like it are not."""

from __future__ import annotations

import pytest

from grader.model import Student
from grader.web.desk.masking import Mask

ADA = Student(id="al123", name="Ada Lovelace", email="ada@x.edu")
JOSE = Student(id="7", name="José da Silva")


@pytest.fixture
def mask() -> Mask:
    found = Mask(lambda id_: f"<{id_}>")
    found.add([ADA, JOSE])
    return found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("by Ada Lovelace.", "by <al123>."),
        ("LOVELACE, ADA", "<al123>"),
        ("hw1_ada_lovelace.csv", "hw1_<al123>.csv"),
        ("AdaLovelace-final.csv", "<al123>-final.csv"),
        ("submissions/al123/exam.csv", "submissions/<al123>/exam.csv"),
        ("write to Ada@X.edu", "write to <al123>"),
        ("José Silva and JOSÉ DA SILVA", "<7> and <7>"),
    ],
)
def test_names_are_masked(mask: Mask, text: str, shown: str) -> None:
    assert mask.hide(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as Mary O\u2019Brien said", "as <mo> said"),
        ("Jean\u2011Luc Picard", "<jp>"),
        ("Jose\u0301 Nu\u0301n\u0303ez", "<jn>"),
        ("\u6211\u662f\u674e\u5c0f\u9f99\u3002", "\u6211\u662f<lx>\u3002"),
        ("\u674e \u5c0f\u9f99", "<lx>"),
    ],
)
def test_names_are_masked_however_they_are_typed(text: str, shown: str) -> None:
    found = Mask(lambda id_: f"<{id_}>")
    found.add(
        [
            Student(id="mo", name="Mary O'Brien"),
            Student(id="jp", name="Jean-Luc Picard"),
            Student(id="jn", name="Jos\u00e9 N\u00fa\u00f1ez"),
            Student(id="lx", name="\u674e \u5c0f\u9f99"),
        ]
    )
    assert found.hide(text) == shown
    assert found.hide("I am Jose\u0301.", "jn") == "I am <jn>."


@pytest.mark.parametrize("text", ["", "adal1234", "al1234 = 77", "Ada is a language", "da, Silva"])
def test_other_words_stay(mask: Mask, text: str) -> None:
    assert mask.hide(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hw1_adalove.ipynb: not read", "[file name]: not read"),
        (
            "read 'Kitty's exam (2).ipynb', not x/My little exam.ipynb; ok",
            "[file name], [file name]; ok",
        ),
        ("a: b\nx.IPYNB y.ipynb.", "a: b\n[file name] [file name]."),
        ("a notebook (.ipynb) of 3 kB", "a notebook (.ipynb) of 3 kB"),
    ],
)
def test_names_of_files_are_not_shown(mask: Mask, text: str, shown: str) -> None:
    assert mask.hide(text) == shown


def test_students_own_first_names_are_masked_in_their_own_texts(mask: Mask) -> None:
    assert mask.hide("Ada here. ADA! Lovelace: adam ada", "al123") == (
        "<al123> here. <al123>! <al123>: adam ada"
    )
    assert mask.hide("Ada is a language; José knows", "7") == "Ada is a language; <7> knows"
