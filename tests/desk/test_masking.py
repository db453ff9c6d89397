"""What is known of students is masked in texts; words that only look like it are not."""

from __future__ import annotations

import pytest

from grader.desk.masking import Mask
from grader.model import Student

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
        ("hw1_ada_lovelace.ipynb", "hw1_<al123>.ipynb"),
        ("AdaLovelace-final.ipynb", "<al123>-final.ipynb"),
        ("submissions/al123/exam.ipynb", "submissions/<al123>/exam.ipynb"),
        ("write to Ada@X.edu", "write to <al123>"),
        ("José Silva and JOSÉ DA SILVA", "<7> and <7>"),
    ],
)
def test_names_are_masked(mask: Mask, text: str, shown: str) -> None:
    assert mask.hide(text) == shown


@pytest.mark.parametrize("text", ["", "adal1234", "al1234 = 77", "Ada is a language", "da, Silva"])
def test_other_words_stay(mask: Mask, text: str) -> None:
    assert mask.hide(text) == text
