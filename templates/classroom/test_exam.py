"""The public checks of this exam: one test per part.

A test checks whether the answer is present and readable and whether its visible examples pass. No
test knows which answers are right, so passing all of them does not guarantee any points.

Run `pytest` here, or use your editor's test view. If the packages in requirements.txt are not
installed, the tests are skipped; the notebook's last cell does most of the same.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

PUBLIC = "These are the public checks only. They say nothing about whether an answer is right."
SECONDS = float(os.environ.get("EXAM_CELL_SECONDS", "60"))
"""Time limit per cell, in seconds; a cell that takes longer is stopped."""

SAMPLE = "sample/*-sample.ipynb"
"""Used for practice until the exam's notebook arrives."""


class UnusableError(Exception):
    """There is no notebook here that can be checked."""


def the_notebook() -> Path:
    """Return EXAM_NOTEBOOK if it is set, else the only notebook here, else the sample."""
    here = Path(__file__).parent
    if named := os.environ.get("EXAM_NOTEBOOK"):
        if not (here / named).is_file():
            raise UnusableError(f"EXAM_NOTEBOOK names {named}, which does not exist.")
        return here / named
    found = sorted(here.glob("*.ipynb")) or sorted(here.glob(SAMPLE))
    if len(found) != 1:
        seen = ", ".join(path.name for path in found) or "none"
        raise UnusableError(
            f"there should be one notebook in {here.name}, but found: {seen}. "
            "Set EXAM_NOTEBOOK to the name of yours."
        )
    return found[0]


def the_answers() -> list[str]:
    """Return the names of the answers from the notebook's text, without running it."""
    path = the_notebook()
    try:
        notebook = json.loads(path.read_bytes())
        listed = notebook.get("metadata", {}).get("grader", {}).get("answers", [])
        code = [c["source"] for c in notebook["cells"] if c["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UnusableError(
            f"{path.name} can't be read as a notebook. Open it in Jupyter and save it again, "
            "or go back to an earlier version."
        ) from None
    names = [str(answer["name"]) for answer in listed]
    if not names:  # some editors drop metadata that they do not know
        text = "\n".join("".join(source) for source in code)
        found = re.findall(r"^(q\d+_\w+) *=|^ {4}\('(q\d+_\w+)',|^def (q\d+_\w+)", text, re.M)
        names = ["".join(groups) for groups in found]
    if not names:
        raise UnusableError(
            f"{path.name} has no answers such as q1_name. Is it the exam's notebook?"
        )
    return list(dict.fromkeys(names))


try:
    ANSWERS, TROUBLE = the_answers(), ""
except UnusableError as error:
    ANSWERS, TROUBLE = [], str(error)


class Notice:
    """Prints below the results what these tests do not check."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line, and another if the notebook is the sample."""
        terminalreporter.write_line(PUBLIC)
        if not TROUBLE and the_notebook().match(SAMPLE):
            terminalreporter.write_line(f"{the_notebook().name} is for practice and is not graded.")


@pytest.fixture(scope="session", autouse=True)
def _notice(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.pluginmanager.has_plugin("exam-public"):
        pytestconfig.pluginmanager.register(Notice(), "exam-public")


@pytest.fixture(scope="session")
def checked(_notice: None):
    """Return the result of `grader check`, which runs the notebook once for all tests."""
    why = (
        "to run these checks, use `python -m pip install -r requirements.txt`; or run the "
        "notebook's last cell"
    )
    run = pytest.importorskip("grader.check.run", reason=why)
    limits = pytest.importorskip("grader.model", reason=why).Limits(cell_seconds=SECONDS)
    errors = pytest.importorskip("grader.errors", reason=why)
    try:
        return run.check(the_notebook(), limits)
    except errors.GraderError as error:
        pytest.fail(str(error), pytrace=False)


def test_notebook() -> None:
    """Exactly one notebook is here, and it can be read."""
    if TROUBLE:
        pytest.fail(TROUBLE, pytrace=False)


@pytest.mark.parametrize("name", ANSWERS)
def test_public_check(name: str, checked) -> None:
    """The answer is present and readable, and its visible examples pass."""
    line = next((one for one in checked.lines if one.name == name), None)
    if line is None or not line.passes:
        pytest.fail(_report(name, line, checked), pytrace=False)


def _report(name: str, line, checked) -> str:
    """Return what is wrong, how to fix it, and the cells that stopped."""
    if line is None:
        return f"{name}: no cell sets it."
    lines = [f"{name}: {line.text}"]
    lines += [f"  fails: {one.fault}" for one in line.tried if one.fault]
    if line.how:
        lines.append(f"  to do: {line.how}")
    if line.found.value == "missing":
        lines += [f"  stopped: {one}" for one in checked.trouble]
    return "\n".join([*lines, PUBLIC])
