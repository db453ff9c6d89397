"""Fixtures and options that most tests share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from grader.runtime.kernels import contention

# A limit on time that is hit in a test is hit for good, however busy the machine is meanwhile; the
# bound itself is tested in test_contention.
contention.MOST_TIMES = 1000.0

# The same examples in every run, without limits on time that a busy machine would exceed. Other
# examples are tried every night.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("repeatable")

GOLDEN = Path(__file__).parent / "golden"
# So that classes can be set up from a checkout that nobody has pushed, and from none.
os.environ["GRADER_SOURCE"] = f"https://example.org/teaching/grader@{'0123456789' * 4}"
# What `grader verify` remembers of the tests' banks is nobody's.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="cache-")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what tests compare golden files with"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives the slow tier half an hour per test in place of the five minutes of the others."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """A function that compares text with a golden file, or writes it with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{name}: pytest --update-golden rewrites"

    return compare


@pytest.fixture
def short(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder for temporary files, with a path that is short enough for sockets in it."""
    tmp_path_factory.getbasetemp()  # so that pytest's own are not made in there
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture
def own_nursery(short: Path, monkeypatch: pytest.MonkeyPatch):
    """Parents of kernels that no other test uses; their folders are in *short*."""
    from grader.runtime.kernels import pool, warm

    own = pool.KernelPool()
    monkeypatch.setattr(warm, "kernel_pool", own)
    monkeypatch.setattr(pool, "kernel_pool", own)
    yield own
    own.close()
