"""A graded class, which each test of the desk gets a copy of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers.desk import a_class


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("desk")
    a_class(home)
    return home


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results"
