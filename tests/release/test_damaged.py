"""Releases that somebody has edited or cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.release.file import load_release
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok


def test_an_unknown_key_is_named(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    ok(
        "render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    file = tmp_path / "release" / "release.json"
    file.write_text(file.read_text().replace('"choice"', '"chioce"', 1))
    with pytest.raises(SetupError, match="the release is damaged: unknown key 'chioce'"):
        load_release(file)
