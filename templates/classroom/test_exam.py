"""The public checks of this exam: one test per part.

A test checks whether the answer is present and readable and whether its visible examples pass. No
test knows which answers are right, so passing all of them does not guarantee any points.

Run `pytest` here, or use your editor's test view. The tests show the results of `grader check`. If
the packages in requirements.txt are not installed, the tests are skipped; the notebook's last cell
does most of the same.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
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
def checked(_notice: None) -> dict:
    """Return the result of `grader check --json`, which runs the notebook once for all tests."""
    if importlib.util.find_spec("grader") is None:
        pytest.skip(
            "to run these checks, use `python -m pip install -r requirements.txt`; or run the "
            "notebook's last cell"
        )
    command = [sys.executable, "-m", "grader", "check", str(the_notebook()), "--json"]
    command += ["--cell-seconds", str(SECONDS)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")  # noqa: S603
    try:
        result = json.loads(done.stdout)
        return {"answers": {a["name"]: a for a in result["answers"]}, "trouble": result["trouble"]}
    except (ValueError, KeyError, TypeError):
        why = done.stderr.strip() or done.stdout.strip() or f"it exited with {done.returncode}"
        pytest.fail(f"`grader check` gave no result: {why}", pytrace=False)


def test_notebook() -> None:
    """Exactly one notebook is here, and it can be read."""
    if TROUBLE:
        pytest.fail(TROUBLE, pytrace=False)


@pytest.mark.parametrize("name", ANSWERS)
def test_public_check(name: str, checked: dict) -> None:
    """The answer is present and readable, and its visible examples pass."""
    answer = checked["answers"].get(name)
    if answer is None:
        pytest.fail(f"{name}: no cell sets it.\n{PUBLIC}", pytrace=False)
    fails = [example["text"] for example in answer["examples"] if not example["passes"]]
    if answer["found"] != "ok" or fails:
        pytest.fail(_report(answer, fails, checked["trouble"]), pytrace=False)


def _report(answer: dict, fails: list[str], trouble: list[str]) -> str:
    """Return what is wrong, how to fix it, and the cells that stopped."""
    lines = [f"{answer['name']}: {answer['text']}"]
    lines += [f"  fails: {text}" for text in fails]
    if answer["how"]:
        lines.append(f"  to do: {answer['how']}")
    if answer["found"] == "missing":
        lines += [f"  stopped: {one}" for one in trouble]
    return "\n".join([*lines, PUBLIC])
