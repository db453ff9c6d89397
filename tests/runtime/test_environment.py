"""What a set asks of the kernels that run its notebooks: a loopback, environment variables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.cli import main
from grader.grading.settings import Settings
from grader.model import Limits
from grader.runtime.sandbox import choose_sandbox
from tests.helpers.notebooks import run

PROBLEM = """\
id: rank
title: Two processes
family: parallelism
needs: [loopback]
minutes: 1
parameters: {n: {choice: [5]}}
prompt: Count {{ n }} things twice.
parts:
  - {id: twice, kind: integer, ask: How many?, points: 1, answer: 2 * n}
"""
EXAM = """\
id: net
title: A set that needs the loopback
problems: [rank]
variables: {MY_SETTING: "5"}
processes: 100
"""
TALKS = """\
import os, socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), timeout=5)
client.send(b"hello")
q1_twice = len(server.accept()[0].recv(9)) + int(os.environ["MY_SETTING"])
"""
WALLED = choose_sandbox("auto").sandbox.plan()["view"] is not None


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    for name, text in {
        "problems/parallelism/rank.yaml": PROBLEM,
        "problems/sets/net.yaml": EXAM,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def grader(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    assert ended.value.code == 0


@pytest.mark.thorough
@pytest.mark.skipif(not WALLED, reason="without a network namespace there is no loopback either")
def test_a_set_gets_the_loopback_and_the_variables_that_it_asks_for(bank: Path) -> None:
    release, work, out = bank / "release", bank / "work", bank / "out"
    grader("render", "net", "--student", "ada", "--out", release, "--bank", bank)
    notebook = json.loads((release / "notebooks" / "ada.ipynb").read_text())
    (cell,) = (
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and "q1_twice = " in "".join(cell["source"])
    )
    cell["source"] = TALKS
    work.mkdir()
    (work / "ada.ipynb").write_text(json.dumps(notebook))
    grader("grade", work, "--release", release, "--out", out, "--bank", bank)
    grade = json.loads((out / "grades" / "ada.json").read_text())
    (mark,) = grade["marks"]
    assert mark["points"] == 1, mark
    assert grade["environment"]["limits"]["processes"] == 100


@pytest.mark.thorough
@pytest.mark.skipif(not WALLED, reason="without a network namespace there is no loopback either")
def test_nobody_else_has_a_loopback_and_nothing_leads_out_of_it() -> None:
    tries = "import socket\nsocket.create_server(('127.0.0.1', 0))\nq1_a = 1"
    assert run(tries, asks="q1_a").cells[0].error is not None
    assert run(tries, asks="q1_a", loopback=True).cells[0].error is None
    out = "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=2)"
    evidence = run(out, asks="", loopback=True)
    assert "unreachable" in str(evidence.cells[0].error)
    assert evidence.environment["limits"]["processes"] == 64  # type: ignore[index]


def test_a_number_of_processes_that_nothing_runs_with_is_an_error(bank: Path) -> None:
    (bank / "problems/sets/net.yaml").write_text(EXAM.replace("processes: 100", "processes: 0"))
    with pytest.raises(Exception, match="a notebook can't have 0 processes") as caught:
        Bank.open((str(bank),)).exam("net")
    assert "net.yaml:5:" in str(caught.value)


def test_what_was_executed_before_the_limit_on_processes_changed_is_kept() -> None:
    # By the first release.
    assert Settings().fingerprint(("q1_x", "q2_y")) == "b51265970dca18a7"
    more = Settings(limits=Limits(processes=100))
    assert more.fingerprint(("q1_x", "q2_y")) != "b51265970dca18a7"


def test_a_name_that_can_not_be_a_variable_is_an_error_with_its_place(bank: Path) -> None:
    path = bank / "problems/sets/net.yaml"
    path.write_text(EXAM.replace("MY_SETTING", "MY-SETTING"))
    with pytest.raises(Exception, match="is not a valid name of an environment variable") as caught:
        Bank.open((str(bank),)).exam("net")
    assert "net.yaml:4:" in str(caught.value)
