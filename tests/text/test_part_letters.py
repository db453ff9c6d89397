"""References to parts, as authors write them, with the letters of a paper."""

from __future__ import annotations

import pytest

from grader.text.part_letters import change_letters, is_about_omitted, keep_asked

LETTERS = {"a": None, "b": "a", "c": "b", "d": "c", "e": None}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("from part (b), with", "from part (a), with"),
        ("Parts (b), (c), and (d) ignore", "Parts (a), (b), and (c) ignore"),
        ("parts (b) to (e).", "parts (a), (b), and (c)."),
        ("in parts (a) or (b)?", "in part (a)?"),
        ("in part (c) or (d)?", "in parts (b) or (c)?"),
        ("Part (e) is", "A part that was not asked is"),
        ("part (x) of the figure", "part (x) of the figure"),
        ("f(b) and the counterpart (b)", "f(b) and the counterpart (b)"),
    ],
)
def test_references_follow_the_paper(text: str, changed: str) -> None:
    assert change_letters(text, LETTERS) == changed


@pytest.mark.parametrize(
    ("text", "omitted"),
    [
        ("Part (a): the link", True),
        ("In parts (a) and (e), the link", True),
        ("For parts (a) to (c): the link", False),
        ("Part (x): the link", False),
        ("The link of part (a) is", False),
    ],
)
def test_conventions_of_other_parts_are_recognized(text: str, omitted: bool) -> None:
    assert is_about_omitted(text, LETTERS) is omitted


def test_a_solution_without_letters_is_kept_whole() -> None:
    assert keep_asked("It is 2.\n\nSee part (b).", LETTERS) == "It is 2.\n\nSee part (a)."


def test_a_label_may_go_on_before_its_end() -> None:
    text = "**(a) MFU.** 1.\n\n**(b) HFU.** 2.\n\n**(x)** 3."
    assert keep_asked(text, LETTERS) == "**(a) HFU.** 2.\n\n**(x)** 3."
