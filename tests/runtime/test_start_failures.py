"""A kernel that does not start: a student reads why in a line, and the log has all of it."""

from __future__ import annotations

import base64
import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.model import Limits, Outcome
from grader.runtime.kernels.base import NotStartedError
from grader.runtime.kernels.causes import describe_error
from tests.helpers.notebooks import run

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="there are no walls")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What kernels log, which goes nowhere by itself."""
    log = logging.getLogger("grader.kernels")
    log.addHandler(caplog.handler)
    yield caplog
    log.removeHandler(caplog.handler)


def in_the_kernel(plan: Any) -> Any:
    """A plan that the kernel's own process can't keep to."""
    return {**plan, "filter": base64.b64encode(b"no filter").decode()}


def by_a_fault_of_ours(plan: Any) -> Any:
    """The same, where what is raised is no OSError."""
    return {**plan, "filter": "x"}


@pytest.mark.thorough
@on_linux
@pytest.mark.parametrize(
    "spoilt, said, where",
    [
        (in_the_kernel, "OSError: 9 bytes are not a system-call filter", "syscalls.py"),
        (by_a_fault_of_ours, "Error: ", "base64.py"),
    ],
)
def test_a_note_tells_no_traceback_and_the_log_does(
    spoilt: Callable[[Any], Any],
    said: str,
    where: str,
    own_nursery: Any,
    monkeypatch: pytest.MonkeyPatch,
    logged: pytest.LogCaptureFixture,
) -> None:
    from grader.runtime.sandbox import linux

    usual = linux.LinuxSandbox.plan
    monkeypatch.setattr(linux.LinuxSandbox, "plan", lambda *a, **k: spoilt(usual(*a, **k)))
    evidence = run("q1_a = 1", asks="q1_a", sandbox="wall")
    assert evidence.outcome is Outcome.REFUSED
    check(evidence.note, said)
    assert "Traceback" in logged.text
    assert where in logged.text


@on_linux
def test_nor_when_the_guard_itself_fails(
    own_nursery: Any, logged: pytest.LogCaptureFixture
) -> None:
    # A folder in memory of no size that there could be.
    evidence = run("q1_a = 1", asks="q1_a", sandbox="auto", limits=Limits(scratch_bytes=-1))
    if evidence.outcome is Outcome.FINISHED:
        pytest.skip("files are on disk here")
    check(evidence.note, "Error: ")
    assert "supervisor.py" in logged.text


def check(note: str | None, said: str) -> None:
    assert note
    assert said in note
    assert "Traceback" not in note
    assert not re.search(r"/|\.py|line \d", note), note


@on_linux
def test_a_kernel_without_its_control_group_is_not_started_with_less(
    own_nursery: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from grader.runtime.sandbox import linux
    from grader.runtime.sandbox.cgroups import GroupTree

    monkeypatch.setattr(linux, "_find_tree", lambda: GroupTree(1, {"memory": tmp_path / "gone"}))
    evidence = run("q1_a = 1", asks="q1_a", sandbox="wall")
    assert evidence.outcome is Outcome.REFUSED
    check(evidence.note, "its control group could not be created")


@pytest.mark.parametrize(
    "error, said",
    [
        (FileNotFoundError(2, "No such file", "/tmp/grader-1/3"), "No such file"),
        (RuntimeError("OSError: bad\nTraceback\n  File '/a/b.py', line 3"), "OSError: bad"),
        (RuntimeError("no '/home/my exams/x' or /usr/lib/y.py: an I/O error, 1/2"),
         "no … or …: an I/O error, 1/2"),
        (RuntimeError(r"'C:\Users\A B\x' and C:\Users\x"), "… and …"),
        (NotStartedError("the parent ended at once (exit status 1)"),
         "the parent ended at once (exit status 1)"),
        (RuntimeError("it isn't there, and that's /a"), "it isn't there, and that's …"),
        (ValueError(), "ValueError"),
    ],
)  # fmt: skip
def test_what_is_said_of_an_error_has_no_path_of_ours(error: Exception, said: str) -> None:
    assert describe_error(error) == said
