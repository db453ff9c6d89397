"""Releases that somebody has edited or cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.release.file import load_release
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"choice"', '"chioce"', "unknown key 'chioce'"),
        ('"topics":[', '"topics":[null,', "item 1 of 'topics' should be text, saw nothing"),
    ],
)
def test_what_is_damaged_is_named(old: str, new: str, what: str, tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    ok(
        "render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    file = tmp_path / "release" / "release.json"
    text = file.read_text().replace('"topics": [', '"topics":[')
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(SetupError, match=f"the release is damaged: {what}"):
        load_release(file)


def test_a_missing_plug_in_is_no_damage(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    ok(
        "render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    file = tmp_path / "release" / "release.json"
    text = file.read_text()
    assert '"kind": "numeric"' in text
    file.write_text(text.replace('"kind": "numeric"', '"kind": "bracket"'))
    with pytest.raises(SetupError, match="this installation lacks the kind 'bracket'") as error:
        load_release(file)
    assert error.value.fix == "install the package that provides it"
