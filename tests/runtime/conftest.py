"""Fixtures that several tests of the runtime share."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.kernels import WAIT, Started

ROOT = Path(__file__).parents[2]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the grader's, which others may read if they can see it."""
    tmp_path.chmod(0o755)
    path = tmp_path / "release.json"
    path.write_text('{"key": "xyzzy"}')
    path.chmod(0o666)
    return path


@pytest.fixture
def started() -> Iterator[Started]:
    """Starts a process that runs some code, says that it has, and waits to be ended."""
    running: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        text = "import os, sys, time\n" + textwrap.dedent(code) + WAIT
        child = subprocess.Popen(
            [sys.executable, "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        running.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in running:
        child.kill()
        child.communicate()
