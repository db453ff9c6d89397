"""The public checks of this exam: a test for every part.

Each says whether the answer is there, whether it can be read, and whether its visible examples
pass. None knows what is right: passing all of them promises no points.

Run `pytest` here, or use the test view of an editor. It needs what requirements.txt names; without
it the tests are skipped, and the notebook's last cell does most of the same.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

PUBLIC = "These are the public checks only. They say nothing about whether an answer is right."
SECONDS = float(os.environ.get("EXAM_CELL_SECONDS", "60"))
"""For each cell; a cell that takes longer is stopped."""


SAMPLE = "sample/*-sample.ipynb"
"""For practice, until the exam's own notebook is there."""


class UnusableError(Exception):
    """There is no notebook here that can be checked."""


def the_notebook() -> Path:
    """The notebook beside this file, or else the sample; EXAM_NOTEBOOK names one of several."""
    here = Path(__file__).parent
    if named := os.environ.get("EXAM_NOTEBOOK"):
        if not (here / named).is_file():
            raise UnusableError(f"EXAM_NOTEBOOK says {named}, and there is no such file.")
        return here / named
    found = sorted(here.glob("*.ipynb")) or sorted(here.glob(SAMPLE))
    if len(found) != 1:
        seen = ", ".join(path.name for path in found) or "none"
        raise UnusableError(
            f"there should be one notebook in {here.name}, and there are: {seen}. "
            "Set EXAM_NOTEBOOK to the name of yours."
        )
    return found[0]


def the_answers() -> list[str]:
    """The names of the answers, from the notebook's own words; nothing of it is run."""
    path = the_notebook()
    try:
        notebook = json.loads(path.read_bytes())
        listed = notebook.get("metadata", {}).get("grader", {}).get("answers", [])
        code = [c["source"] for c in notebook["cells"] if c["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UnusableError(
            f"{path.name} can't be read as a notebook. Open it in Jupyter and save it again, "
            "or take an earlier version of it."
        ) from None
    names = [str(answer["name"]) for answer in listed]
    if not names:  # some editors drop what they do not know
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


class Says:
    """Prints under the results what was not looked at."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """A line, and one more where it was not the exam's notebook."""
        terminalreporter.write_line(PUBLIC)
        if not TROUBLE and the_notebook().match(SAMPLE):
            terminalreporter.write_line(f"{the_notebook().name} is for practice, and not graded.")


@pytest.fixture(scope="session", autouse=True)
def _said(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.pluginmanager.has_plugin("exam-public"):
        pytestconfig.pluginmanager.register(Says(), "exam-public")


@pytest.fixture(scope="session")
def checked(_said: None):
    """What the package says of the notebook, which it runs once for all tests."""
    why = (
        "`python -m pip install -r requirements.txt` installs what runs these checks; or run the "
        "notebook's last cell"
    )
    pipeline = pytest.importorskip("grader.grading", reason=why)
    limits = pytest.importorskip("grader.model", reason=why).Limits(cell_seconds=SECONDS)
    errors = pytest.importorskip("grader.errors", reason=why)
    try:
        return pipeline.check(the_notebook(), limits)
    except errors.GraderError as error:
        pytest.fail(str(error), pytrace=False)


def test_notebook() -> None:
    """There is one notebook, and it can be read."""
    if TROUBLE:
        pytest.fail(TROUBLE, pytrace=False)


@pytest.mark.parametrize("name", ANSWERS)
def test_public_check(name: str, checked) -> None:
    """The answer is there, can be read, and its visible examples pass."""
    line = next((one for one in checked.lines if one.name == name), None)
    if line is None or not line.passes:
        pytest.fail(_told(name, line, checked), pytrace=False)


def _told(name: str, line, checked) -> str:
    """What is wrong, how to write it, and what stopped on the way."""
    if line is None:
        return f"{name}: no cell sets it."
    told = [f"{name}: {line.text}"]
    told += [f"  fails: {one.fault}" for one in line.tried if one.fault]
    if line.how:
        told.append(f"  to do: {line.how}")
    if line.found.value == "missing":
        told += [f"  stopped: {one}" for one in checked.trouble]
    return "\n".join([*told, PUBLIC])
