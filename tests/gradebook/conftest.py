"""Gradebooks in files and in databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.postgres import Server, a_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for the tests of this folder."""
    with a_server() as server:
        yield server
