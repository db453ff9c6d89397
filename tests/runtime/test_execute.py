"""Real notebooks in real kernels: what they leave behind, whatever is in them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.errors import SetupError
from grader.model import Answer, Evidence, Limits, Outcome
from grader.notebook import Cell
from grader.runtime.execute import execute
from grader.runtime.execute.reasons import iter_targets
from grader.runtime.execute.submission import _modules_to_preload
from grader.runtime.kernels import CellResult, KernelOptions, StoppedError, cold, kernels
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.kernels.session import KernelSession
from grader.runtime.sandbox import Sandbox, ScratchFolder, sandboxes
from tests.helpers.kernels import EVERY_KERNEL, EVERY_WAY, Mark, on_linux, until
from tests.helpers.notebooks import a_job, a_notebook, run

ROOT = Path(__file__).parents[2]
SHORT = Limits(cell_seconds=1.0, notebook_seconds=20.0)


def value(evidence: Evidence, name: str) -> Any:
    raw = evidence.answers[name].raw
    assert raw is not None, evidence.answers[name].absent
    return raw.get("v")


def absent(evidence: Evidence, name: str) -> str | None:
    answer = evidence.answers[name]
    assert answer.raw is None
    return answer.absent


def outcomes(evidence: Evidence) -> list[str]:
    return [cell.outcome.value for cell in evidence.cells]


def is_gone(pid: int) -> bool:
    """Whether the process has ended; a zombie that nobody reaps has."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # On Linux the process may end between the two questions.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = Path(f"/proc/{pid}/stat").read_text()
            if status.rpartition(")")[2].split()[0] == "Z":
                return True
        time.sleep(0.02)
    return False


# -- answers


def test_answers_are_found_by_name_wherever_they_are_set() -> None:
    evidence = run(
        "# %% Question 1",
        "q2_b = 'yes'",
        "",
        "import math\nq1_a = math.sqrt(16)",
        "for q3_c in range(3): pass",
        "q1_a += 1",
        asks="q1_a q2_b q3_c q4_d",
    )
    assert evidence.outcome is Outcome.FINISHED
    assert evidence.note is None
    assert evidence.answers["q1_a"] == Answer(name="q1_a", raw={"t": "float", "v": "5.0"})
    assert [value(evidence, n) for n in ("q2_b", "q3_c")] == ["yes", "2"]
    assert absent(evidence, "q4_d") == "no cell sets q4_d"
    assert [cell.index for cell in evidence.cells] == [1, 3, 4, 5]


def test_a_cell_that_raises_costs_what_it_would_have_set_and_nothing_else() -> None:
    evidence = run(
        "x = 0",
        "q1_a = 3\nq2_b = 1 / x\nq3_c = 4",
        "q4_d = q1_a + 1",
        "q5_e = undefined",
        "q6_f = (1 +\n",
        "def answer():\n    q7_g = 7",
        "q8_h = 8\ndel q8_h",
        "q9i = 9",
        "input('q10? ')\nq10_j = 1",
        asks="q1_a q2_b q3_c q4_d q5_e q6_f q7_g q8_h q9_i q10_j",
    )
    assert evidence.outcome is Outcome.FINISHED
    assert [value(evidence, n) for n in ("q1_a", "q4_d")] == ["3", "4"]
    assert {name: answer.absent for name, answer in evidence.answers.items() if answer.absent} == {
        "q2_b": "code cell 2 stopped with ZeroDivisionError: division by zero before q2_b was set",
        "q3_c": "code cell 2 stopped with ZeroDivisionError: division by zero before q3_c was set",
        "q5_e": "code cell 4 stopped with NameError: name 'undefined' is not defined "
        "before q5_e was set",
        "q6_f": "code cell 5 has a syntax error at line 1",
        "q7_g": "code cell 6 sets q7_g only inside a function or a branch that was not taken",
        "q8_h": "code cell 7 sets q8_h, but q8_h was no longer defined at the end of the notebook",
        "q9_i": "no cell sets q9_i; code cell 8 sets q9i",
        "q10_j": "code cell 9 stopped with StdinNotImplementedError: raw_input was called, but "
        "this frontend does not support input requests before q10_j was set",
    }
    raised = evidence.cells[1]
    assert (raised.outcome, raised.line) == (Outcome.FINISHED, 2)
    assert raised.error == "ZeroDivisionError: division by zero"


def test_leaving_politely_costs_nothing() -> None:
    evidence = run(
        "q1_a = 1\nexit()", "quit()", "import sys\nsys.exit(3)", "q2_b = 2", asks="q1_a q2_b"
    )
    assert outcomes(evidence) == ["finished"] * 4
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["1", "2"]
    assert evidence.environment["restarts"] == 0


@pytest.mark.parametrize(
    "source, names",
    [
        ("q = 1", ["q"]),
        ("q: float = 1", ["q"]),
        ("a, q = 1, 2", ["a", "q"]),
        ("(a, q) = 1, 2", ["a", "q"]),
        ("a = q = 1", ["a", "q"]),
        ("q += 1; r = 2", ["q", "r"]),
        ("%time q = 1", ["q"]),
        ("print(q := 1)", ["q"]),
        ("import numpy as q", ["numpy", "q"]),
        ("f(q=1)", []),
        ("f(a, q=1)", []),
        ("q == 1", []),
        ("q <= 1", []),
        ("q.x = 1", []),
        ("d['q'] = 1", []),
        ("# q = 1", []),
        ("print('# q'); q = 1", ["q"]),
        ("f(\n    q=[1],\n)\nr = 2", ["r"]),
        ("print('(')\nq = 1", ["q"]),
        ("if a:\n    q = (\n        1\n    )\n    r = 2", ["q", "r"]),
    ],
)
def test_what_a_line_sets_is_seen_without_parsing_it(source: str, names: Sequence[str]) -> None:
    assert [name for name, _ in iter_targets(source)] == names


@pytest.mark.parametrize("unit", ["a=", "#", "'#", "(", "for ", ":", " ;", "%", "a ", "a:", "=="])
def test_looking_for_names_takes_no_time_on_any_text(unit: str) -> None:
    began = time.process_time()
    list(iter_targets(unit * (200_000 // len(unit))))
    assert time.process_time() - began < 2


# -- limits


def test_an_endless_cell_is_interrupted_and_the_kernel_lives_on() -> None:
    evidence = run(
        "x = 41", "q1_a = 1\nwhile True: pass", "q2_b = x + 1", asks="q1_a q2_b", limits=SHORT
    )
    assert outcomes(evidence) == ["finished", "timeout", "finished"]
    assert evidence.outcome is Outcome.TIMEOUT
    assert evidence.note == "code cell 2 ran longer than 1 s"
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["1", "42"]
    assert evidence.environment["restarts"] == 0
    assert evidence.cells[1].seconds >= 1.0


@pytest.mark.thorough
def test_a_cell_that_ignores_the_interrupt_is_killed_and_the_rest_runs() -> None:
    evidence = run(
        "x = 41",
        "q1_a = x",
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass\nq2_b = 1",
        "q3_c = x + 1",
        asks="q1_a q2_b q3_c",
        limits=SHORT,
    )
    assert outcomes(evidence) == ["finished", "finished", "timeout", "finished"]
    assert [value(evidence, n) for n in ("q1_a", "q3_c")] == ["41", "42"]
    assert absent(evidence, "q2_b") == "code cell 3, which sets q2_b, ran longer than 1 s"
    assert evidence.environment["restarts"] == 1


def test_a_kernel_that_dies_is_restarted_and_what_went_well_is_run_again() -> None:
    evidence = run(
        "x = 40",
        "x += 1\n1 / 0",
        "q1_a = x",
        "q2_b = 2\nimport ctypes\nctypes.string_at(0)",
        "q3_c = x + 1",
        "import os\nos._exit(3)",
        asks="q1_a q2_b q3_c",
    )
    assert outcomes(evidence) == ["finished"] * 3 + ["crashed", "finished", "crashed"]
    assert evidence.outcome is Outcome.CRASHED
    assert evidence.note == (
        "code cell 4 ended the kernel (SIGSEGV); code cell 6 ended the kernel (exit status 3)"
    )
    assert [value(evidence, n) for n in ("q1_a", "q3_c")] == ["41", "42"]
    assert absent(evidence, "q2_b") == "code cell 4, which sets q2_b, ended the kernel (SIGSEGV)"


@pytest.mark.thorough
@EVERY_WAY
def test_a_cell_that_dies_with_the_only_answer_is_the_reason(way: dict[str, Any]) -> None:
    evidence = run("import os\nos._exit(1)\nq1_a = 1", asks="q1_a", **way)
    assert absent(evidence, "q1_a") == (
        "code cell 1, which sets q1_a, ended the kernel (exit status 1)"
    )
    assert evidence.environment["restarts"] == 1


REAPED = """\
import time
end, q2_b = time.monotonic() + 3, False
while time.monotonic() < end and not q2_b:
    q2_b = os.waitpid(child, os.WNOHANG)[0] == child
"""


@pytest.mark.thorough
@on_linux
@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_a_forked_child_that_goes_on_is_no_second_kernel(sandbox: str) -> None:
    fork = "import os\nq1_a = 1\nchild = os.fork()\nif child == 0: raise MemoryError"
    evidence = run(fork, REAPED, "q1_a += 1", asks="q1_a q2_b", sandbox=sandbox)
    assert [cell.error for cell in evidence.cells] == [None] * 3
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["2", True]


def test_answers_that_were_seen_need_no_restart_after_the_last_cell_died() -> None:
    evidence = run("q1_a = 1", "import os\nos._exit(0)", asks="q1_a")
    assert value(evidence, "q1_a") == "1"
    assert evidence.environment["restarts"] == 0


def test_a_kernel_is_restarted_three_times_and_no_more() -> None:
    die = "import os\nos._exit(1)"
    evidence = run("q1_a = 1", die, die, die, "q2_b = 2", die, "q3_c = 3", asks="q1_a q2_b q3_c")
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["1", "2"]
    assert absent(evidence, "q3_c") == (
        "code cell 7, which sets q3_c, was not run because the kernel died too many times"
    )
    why = "code cell 7 was not run because the kernel died too many times"
    assert evidence.cut_short == {"q3_c": why}
    assert evidence.cells[-1].outcome is Outcome.CRASHED
    assert evidence.environment["restarts"] == 3


def test_a_cell_that_dies_only_when_run_again_is_left_out(tmp_path: Path) -> None:
    mark = tmp_path / "ran-before"
    evidence = run(
        f"import os, pathlib\nmark = pathlib.Path({str(mark)!r})\n"
        "if mark.exists(): os._exit(1)\nmark.touch()\nq1_a = 1",
        "import os\nos._exit(1)",
        "q2_b = 2",
        asks="q1_a q2_b",
        sandbox="off",  # behind the wall nothing outlives a kernel by which a cell could know
    )
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["1", "2"]
    assert evidence.environment["restarts"] == 2


@pytest.mark.thorough
def test_the_time_of_the_whole_notebook_is_limited_and_what_did_not_run_says_so() -> None:
    limits = Limits(cell_seconds=5.0, notebook_seconds=1.0)
    evidence = run(
        "q1_a = 1", "import time\ntime.sleep(30)", "q2_b = 2", asks="q1_a q2_b", limits=limits
    )
    assert evidence.cells[1].seconds < 15  # other work on the machine does not stretch a sleep
    assert value(evidence, "q1_a") == "1"
    assert absent(evidence, "q2_b") == (
        "code cell 3, which sets q2_b, was not run "
        "because the notebook reached its time limit of 1 s"
    )
    error = "was stopped because the notebook reached its time limit of 1 s"
    assert evidence.cells[1].error == error
    assert evidence.outcome is Outcome.TIMEOUT


def test_output_is_cut_to_its_start_and_its_end() -> None:
    limits = Limits(cell_seconds=10, notebook_seconds=30, output_bytes=1_000)
    evidence = run(
        "print('start'); print('x' * 100_000); print('end')\n'shown'",
        "print('y' * 30_000_000)",
        "raise ValueError('z' * 10_000_000)",
        "q1_a = 1",
        asks="q1_a",
        limits=limits,
    )
    text = evidence.cells[0].output
    assert text.startswith("start\nxxx")
    assert text.endswith("xxx\nend\n'shown'\n")
    assert "bytes were cut here" in text
    assert all(len(cell.output) < 1_100 for cell in evidence.cells)
    assert value(evidence, "q1_a") == "1"


def ran(*sources: str) -> list[CellResult]:
    """How cells of one kernel went, as the session tells it."""
    options = KernelOptions(limits=SHORT, sandbox=Sandbox(), imports=("numpy",))
    session = kernels.find("warm")(options)
    try:
        return [session.run(source, seconds=20, keep=1_000) for source in sources]
    finally:
        session.close()


DISPLAY = "from IPython.display import HTML, display\n"
TOO_MUCH = {
    "at once": DISPLAY + "display('x' * 5_000_000)",
    "one after another": DISPLAY + "for _ in range(6): display('x' * 1_000_000)",
    "bit by bit": DISPLAY + "for _ in range(2_000): display('x' * 4_000)",
    "flushed": "for n in range(60_000): print(n, flush=True)",
    "of four bytes": "print('\U0001f600' * 600_000)",
}


@pytest.mark.thorough
@on_linux
@pytest.mark.parametrize("much", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_is_too_much_to_be_sent_takes_nothing_else_along(much: str) -> None:
    cell, after = ran(f"{much}\nprint('later')\n0.5", "print('next')\n2")
    assert cell.error is None
    assert cell.visible_outputs == (("result", "0.5"),)
    assert "bytes were cut here" in cell.output
    assert len(cell.output) < 1_100
    assert "later" in cell.output or much == TOO_MUCH["bit by bit"]  # where all is used up
    assert (after.output, after.visible_outputs) == ("next\n2\n", (("result", "2"),))


@pytest.mark.thorough
@on_linux
def test_what_is_too_long_to_be_shown_keeps_its_text_and_its_place() -> None:
    html, text, widget = ran(
        DISPLAY + "display(HTML('x' * 5_000_000))\nprint('later')",
        "'x' * 5_000_000",
        DISPLAY + "display({'application/x': 'x' * 5_000_000}, raw=True)\n2",
    )
    assert html.output == "<IPython.core.display.HTML object>\nlater\n"
    assert text.visible_outputs == (("result", "'" + "x" * 999),)
    assert text.output.startswith("'xxx")
    assert "bytes were cut here" in text.output
    assert widget.output == "2\n"


@pytest.mark.thorough
@on_linux
def test_a_word_on_stderr_is_noted_however_much_came_before() -> None:
    source = "import sys\n" + TOO_MUCH["bit by bit"] + "\nprint('no', file=sys.stderr)\n0.5"
    first, *_, value = ran(source)[0].visible_outputs
    assert (first, value) == (("stderr",), ("result", "0.5"))


@pytest.mark.thorough
@on_linux
def test_what_is_sent_for_a_cell_is_bounded_whatever_it_is(tmp_path: Path) -> None:
    from grader.runtime.worker import streams

    with (tmp_path / "wire").open("wb") as wire:
        publisher = streams.Publisher(os.dup(wire.fileno()), b"key")
        for size, count in ((5_000_000, 20), (900_000, 60), (9_000, 400), (90, 400), (9, 400)):
            for _ in range(count):
                shown = {"data": {"text/plain": "x" * size}}
                publisher.send_message("display_data", "1", shown)
                publisher.send_message("execute_result", "1", shown)
                publisher.send_message("comm_msg", "1", ["x" * size])
                for name in ("stdout", "stderr"):
                    publisher.send_message(
                        "stream", "1", {"name": name, "text": "x" * size}, last=True
                    )
        sent = wire.seek(0, os.SEEK_END)
        assert sent <= streams.MOST_BYTES + streams.RESERVE
        publisher.send_replies("1", [("execute_reply", {"status": "ok"})])
        publisher.close()
        assert wire.seek(0, os.SEEK_END) < sent + 1_000


def test_the_output_of_a_whole_notebook_is_bounded_too() -> None:
    limits = Limits(cell_seconds=10, notebook_seconds=30, output_bytes=100)
    evidence = run(*["print('x' * 99)"] * 30, asks="", limits=limits)
    assert sum(len(cell.output) for cell in evidence.cells) < 30 * 100
    assert evidence.cells[0].output == "x" * 99 + "\n"


# -- commands of a shell

LEFT = """\
import os, pathlib
def command(process):
    try: return (process / "cmdline").read_bytes()
    except OSError: return b""
q1_a = any({mark!r} in command(p) for p in pathlib.Path("/proc").glob("[0-9]*"))
try: q2_b = os.waitpid(-1, os.WNOHANG)
except ChildProcessError: q2_b = "none"
"""


@pytest.mark.thorough
@on_linux
@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("command", ["sleep {}", "sleep {} | cat", "exec >&- 2>&-; sleep {}"])
def test_a_command_that_is_interrupted_has_printed_and_is_gone(command: str, sandbox: str) -> None:
    mark = Mark()
    evidence = run(
        f"!echo early; {command.format(mark.argument)}",
        LEFT.format(mark=mark.argument.encode()),
        asks="q1_a q2_b",
        limits=SHORT,
        sandbox=sandbox,
    )
    assert outcomes(evidence) == ["timeout", "finished"]
    assert evidence.cells[0].output == "early\n"
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == [False, "none"]


@pytest.mark.thorough
@on_linux
def test_what_a_command_prints_comes_at_once_and_in_whole_characters() -> None:
    evidence = run(
        r"!printf 'caf\303'; sleep 0.2; printf '\251 \360\237'; sleep 0.2; printf '\230\200 \342'",
        "!echo early; sleep 0.5; kill -9 $PPID",
        asks="",
        sandbox="off",
    )
    assert evidence.cells[0].output == "café \U0001f600 \ufffd"
    assert evidence.cells[1].output == "early\n"


@EVERY_WAY
def test_a_command_that_is_to_go_on_by_itself_is_refused_at_once(way: dict[str, Any]) -> None:
    evidence = run("!sleep 60 & ", "q1_a = 1", asks="q1_a", limits=SHORT, **way)
    assert evidence.cells[0].error == "OSError: Background processes not supported."
    assert value(evidence, "q1_a") == "1"


# -- what the kernel is like


def test_the_evidence_says_what_it_ran_on() -> None:
    limits = Limits(cell_seconds=5, notebook_seconds=30)
    environment: Any = run("q1_a = 1", asks="q1_a", limits=limits, seed=7).environment
    assert json.loads(json.dumps(environment)) == environment
    assert {"python", "packages", "platform", "kernel", "seed", "limits", "sandbox"} <= {
        *environment
    }
    assert {"ipykernel", "numpy"} <= {*environment["packages"]}
    assert environment["limits"] == {
        "cell_seconds": 5,
        "notebook_seconds": 30,
        "memory_bytes": 4_000_000_000,
        "scratch_bytes": 500_000_000,
        "processes": 32,
        "threads": 1,
    }
    assert environment["sandbox"]["mode"] == "auto"


@pytest.mark.thorough
def test_chance_is_the_same_every_time_and_different_for_another_seed() -> None:
    sources = (
        "import random, numpy as np",
        "q1_a = random.random()\nq2_b = np.random.rand()",
        "q3_c = hash('x')\nq4_d = list({'a', 'b', 'c'})",
    )
    first, again, other = (run(*sources, asks="q1_a q2_b q3_c q4_d", seed=s) for s in (7, 7, 8))
    assert first.answers == again.answers
    for name in ("q1_a", "q2_b"):
        assert value(first, name) != value(other, name)


@pytest.mark.slow
def test_torch_is_seeded_when_a_student_imports_it() -> None:
    pytest.importorskip("torch")
    first, again, other = (
        run("import torch\nq1_a = torch.rand(())", asks="q1_a", seed=s) for s in (7, 7, 8)
    )
    assert first.answers == again.answers
    assert value(first, "q1_a") != value(other, "q1_a")


LOOK = "import importlib.util\nfor _ in range(3): importlib.util.find_spec({})\n"


def test_what_is_only_looked_for_is_seeded_when_it_is_imported() -> None:
    source = "from grader.runtime.worker.limits import seed_all; seed_all(7)\n"
    source += LOOK.format(repr("numpy.random"))
    source += "import numpy.random\nprint(numpy.random.rand())"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.check_output([sys.executable, "-c", source], env=env, text=True)
    assert float(said) == np.random.RandomState(7).rand()


@pytest.mark.slow
@EVERY_WAY
@pytest.mark.parametrize("name", ["'numpy.random'", "'tor' + 'ch'"])
def test_what_a_notebook_only_looks_for_is_seeded_when_it_is_imported(
    name: str, way: dict[str, Any]
) -> None:
    pytest.importorskip("torch")  # whose name is in pieces, so that no parent imports it before
    source = LOOK.format(name) + f"module = importlib.import_module({name})\n"
    source += "q1_a = float(module.rand(1)[0])"
    first, again = (run(source, asks="q1_a", seed=7, **way) for _ in range(2))
    assert first.cells[0].error is None
    assert value(first, "q1_a") == value(again, "q1_a")


TIGHT = """\
import ctypes, os, resource, sys
from grader.runtime.sandbox import choose_sandbox
from tests.helpers.notebooks import QUICK
if os.geteuid() == 0:
    ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # from the next program on without CAP_SYS_RESOURCE
most = choose_sandbox(sys.argv[2]).sandbox.rlimits(QUICK)["RLIMIT_CPU"] + 2
resource.setrlimit(resource.RLIMIT_CPU, (most, most))
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""
TELLS = """\
import sys
from tests.helpers.notebooks import run
source = "import resource\\nsoft, hard = resource.getrlimit(resource.RLIMIT_CPU)"
evidence = run(source, "q1_a = hard - soft", asks="q1_a", sandbox=sys.argv[1], kernel=sys.argv[2])
print(evidence.note or evidence.answers["q1_a"].raw["v"])
"""


@pytest.mark.thorough
@on_linux
@EVERY_WAY
def test_a_kernel_starts_where_the_limit_on_cpu_time_leaves_no_room_to_warn(
    way: dict[str, Any],
) -> None:
    how = [way.get("sandbox", "auto"), way.get("kernel", "warm")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", TIGHT, TELLS, *how]
    done = subprocess.run(command, env=env, cwd=ROOT, text=True, capture_output=True)
    assert (done.stdout, done.stderr[-500:]) == ("2\n", "")


def test_names_of_the_asking_are_no_names_of_the_student() -> None:
    evidence = run(
        "q1_a = 1", "q2_b = sorted(n for n in globals() if 'grader' in n)", asks="q1_a q2_b"
    )
    assert value(evidence, "q2_b") == []


def test_the_folder_of_the_kernel_is_not_in_what_is_kept() -> None:
    evidence = run("import os\nprint(os.getcwd())\nopen(os.getcwd() + '/data.csv')", asks="")
    assert evidence.cells[0].output == ".\n"
    assert (
        evidence.cells[0].error
        == "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"
    )


def test_only_paths_of_the_kernels_folder_are_shortened() -> None:
    source = """\
import os, tempfile
root = os.path.dirname(os.getcwd())
print(tempfile.gettempdir(), os.getcwd() + "/a/b", os.getcwd() + "shop")
print("https://x.edu" + root + "/handbook", "/data" + root + "s.csv", "." + root)
print(root)
"""
    first, second, third = run(source, asks="").cells[0].output.splitlines()
    assert first == "~/tmp a/b ~/workshop"
    assert "~" not in second
    assert third == "~"


def test_a_notebook_may_replace_functions_that_printing_needs() -> None:
    source = """\
import os, time
from unittest import mock
with mock.patch("time.monotonic", side_effect=[0.0, 1.5]):
    began = time.monotonic()
    print("start", flush=True)
    q1_a = time.monotonic() - began
    print("end")
os.getpid = lambda: 1
"""
    evidence = run(source, "print(2)\nq2_b = 2", asks="q1_a q2_b")
    assert [cell.error for cell in evidence.cells] == [None, None]
    assert [cell.output for cell in evidence.cells] == ["start\nend\n", "2\n"]
    assert value(evidence, "q2_b") == "2"


ENDINGS = {"at its end": "pass", "died": "import os\nos._exit(0)", "endless": "while True: pass"}


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_all_processes_of_a_notebook_are_gone_afterwards(ending: str) -> None:
    child = "import os, subprocess\nq1_a = subprocess.Popen(['sleep', '1000']).pid\n"
    evidence = run(
        child + "q2_b = os.getpid()", ending, asks="q1_a q2_b", limits=SHORT, sandbox="off"
    )
    assert is_gone(int(value(evidence, "q1_a")))
    assert is_gone(int(value(evidence, "q2_b")))


@pytest.mark.thorough
@on_linux
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_all_processes_behind_the_wall_are_gone_afterwards(ending: str) -> None:
    mark = Mark()
    child = f"import subprocess; subprocess.Popen({mark.command})"
    source = f"{mark.on_this_process}\n{child}\nq1_a = 1"
    assert value(run(source, ending, asks="q1_a", limits=SHORT), "q1_a") == "1"
    assert mark.is_gone()


DAEMONS = {
    "own session": "start_new_session=True",
    "elsewhere": "start_new_session=True, cwd='/'",
    "no environment": "start_new_session=True, env={}",
}


@on_linux
@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("how", DAEMONS.values(), ids=DAEMONS)
def test_a_process_that_leaves_its_group_does_not_outlive_the_run(how: str, sandbox: str) -> None:
    mark = Mark()
    source = f"import subprocess\nsubprocess.Popen({mark.command}, {how})\nq1_a = 1"
    for ending in ("pass", "import os\nos._exit(0)"):
        assert value(run(source, ending, asks="q1_a", sandbox=sandbox), "q1_a") == "1"
        assert mark.is_gone()


DAEMON = """\
import os, pathlib, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        {mark}
        pathlib.Path(os.environ["HOME"], "up").touch()
        os.execvp("sleep", {command})
    os._exit(0)
os.wait()
while not (pathlib.Path.home() / "up").exists():
    time.sleep(0.01)
q1_a = 1
"""


@on_linux
@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_a_daemon_does_not_outlive_the_run_and_processes_of_others_do(sandbox: str) -> None:
    mark, others = Mark(), Mark()
    other = subprocess.Popen(["sleep", others.argument], cwd=tempfile.gettempdir())
    try:
        source = DAEMON.format(mark=mark.on_this_process, command=mark.command)
        assert value(run(source, asks="q1_a", sandbox=sandbox), "q1_a") == "1"
        assert mark.is_gone()
        assert others.processes() == [other.pid]
    finally:
        other.kill()
        other.wait()


@pytest.mark.thorough
def test_a_system_without_process_groups_and_socket_files_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.runtime.kernels.scratch._has_sockets", lambda: False)
    monkeypatch.delattr(os, "killpg")
    evidence = run(
        "q1_a = 1",
        "import signal, os\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nq2_b = os.getpid()",
        "while True: pass",
        "q3_c = 3",
        asks="q1_a q2_b q3_c",
        limits=SHORT,
        sandbox="off",
        kernel="cold",
    )
    assert outcomes(evidence) == ["finished", "finished", "timeout", "finished"]
    assert [value(evidence, n) for n in ("q1_a", "q3_c")] == ["1", "3"]
    assert is_gone(int(value(evidence, "q2_b")))


def test_kernels_in_threads_do_not_disturb_each_other() -> None:
    def one(n: int) -> Any:
        return value(run(f"x = {n}", "q1_a = x * 2", asks="q1_a"), "q1_a")

    before = threading.active_count()
    with ThreadPoolExecutor(2) as executor:
        assert list(executor.map(one, range(6))) == [str(2 * n) for n in range(6)]
    assert threading.active_count() <= before + 3


# -- students who do not play along


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking takes at most a second and a half, so that what never answers is met quickly."""
    monkeypatch.setattr("grader.runtime.execute.run.ASK_SECONDS", 1.5)


KERNEL = "k = get_ipython().kernel\n"
# What happens by accident, or nearly: the answers are still there.
CARELESS = {
    "json": "import json\njson.dumps = lambda *a, **k: 'forged'",
    "names": "str = int = list = dict = exec = globals = type = len = None",
    "display": "import sys\nsys.displayhook = sys.excepthook = None",
    "messages": KERNEL + "for s in ('execute_reply', 'status', 'stream', 'comm_open', 'error'):\n"
    "    k.session.send(k.iopub_socket, s, {'x': 1}, parent=k.get_parent())",
    "idle": KERNEL + "state = {'execution_state': 'idle'}\n"
    "k.session.send(k.iopub_socket, 'status', state, parent=k.get_parent())",
}
SAID = "get_ipython().user_expressions = lambda e: {'said': "
HOSTILE = {
    "expressions": SAID + "['q1_a', 1e400]}",
    "large": SAID + "'x' * 20_000_000}",
    "deep": SAID + "{'data': {'text/plain': '[' * 9999}}}",
    "signature": "get_ipython().kernel.session.key = b'another'",
    "builtins": "import builtins\nbuiltins.print = builtins.isinstance = None",
    "modules": "import sys\nsys.modules['numpy'] = sys.modules['base64'] = 3",
    "formatter": "get_ipython().display_formatter.format = lambda *a, **k: ({'text/plain': 3}, {})",
    "stdout": "import sys\nsys.stdout = None",
    "events": "get_ipython().events.register('post_execute', lambda: 1 / 0)",
    "cells": "get_ipython().run_cell_async = get_ipython().run_cell = None",
    "transformers": "get_ipython().input_transformers_post.append(lambda lines: ['1/0'])",
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("trick", CARELESS.values(), ids=CARELESS)
def test_what_a_careless_student_breaks_does_not_cost_the_answer(trick: str) -> None:
    evidence = run("q1_a = 28", trick, "q2_b = 1", asks="q1_a q2_b", limits=SHORT)
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["28", "1"]


@EVERY_WAY
def test_a_value_that_can_not_be_displayed_is_what_stops_a_cell(way: dict[str, Any]) -> None:
    cell = "class A:\n    def __repr__(self): raise ValueError\nq1_a = 1\nA()"
    evidence = run(cell, asks="q1_a", **way)
    assert value(evidence, "q1_a") == "1"
    assert evidence.cells[0].error == "an exception while its last value was displayed"


CANCELS = "for task in asyncio.all_tasks(): task.cancel()"
OF_OTHERS = """\
await asyncio.sleep(0)
for task in asyncio.all_tasks() - {asyncio.current_task()}: task.cancel()
"""


@on_linux
@pytest.mark.parametrize(
    ("cell", "error"),
    [
        (CANCELS, None),
        (OF_OTHERS, None),
        (f"await asyncio.sleep(0)\n{CANCELS}", "CancelledError"),
    ],
    ids=["all", "others", "itself"],
)
def test_a_cell_that_cancels_every_task_costs_nothing(cell: str, error: str | None) -> None:
    before = "import asyncio\nq1_a = 28\nlong = asyncio.create_task(asyncio.sleep(60))"
    after = "import time; time.sleep(0.2)\nq2_b = 1"
    last = "await asyncio.sleep(0)\nq3_c = long.cancelled()"
    evidence = run(before, cell, after, last, asks="q1_a q2_b q3_c")
    assert outcomes(evidence) == ["finished"] * 4
    assert [value(evidence, n) for n in ("q1_a", "q2_b", "q3_c")] == ["28", "1", True]
    assert evidence.cells[1].error == error
    assert evidence.environment["restarts"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("trick", HOSTILE.values(), ids=HOSTILE)
def test_a_trick_costs_at_most_the_students_own_answers(trick: str) -> None:
    evidence = run("q1_a = 28", trick, "q2_b = 1", asks="q1_a q2_b", limits=SHORT)
    assert evidence.outcome is not Outcome.REFUSED
    for answer in evidence.answers.values():
        assert (answer.raw is None) == bool(answer.absent)
        assert answer.raw in (None, {"t": "int", "v": "28"}, {"t": "int", "v": "1"})


def test_a_verdict_that_is_printed_is_only_text() -> None:
    evidence = run("print('q1_a correct 100/100')\nq1_a = {'verdict': 'correct'}", asks="q1_a")
    assert evidence.answers["q1_a"].raw["t"] == "dict"


ENDLESS = """\
class Endless:
    @property
    def __class__(self):
        while True: pass
q1_a = Endless()
"""


@pytest.mark.thorough
@pytest.mark.usefixtures("impatient")
def test_a_value_that_never_ends_when_it_is_looked_at_is_stopped() -> None:
    evidence = run(ENDLESS, "q2_b = 2", asks="q1_a q2_b", limits=SHORT)
    looked_at = evidence.answers["q1_a"]
    if looked_at.raw is None:
        assert looked_at.absent == "the kernel's reply about q1_a could not be read"
        assert evidence.cut_short == {"q1_a": "reading the answer took longer than 10 s"}
    else:
        assert looked_at.raw == {"t": "object", "type": "__main__.Endless"}
    assert value(evidence, "q2_b") == "2"


SLOW = """\
import time
class Slow:
    @property
    def __class__(self):
        time.sleep(0.05)
        return Slow
q1_a = Slow()
"""


@pytest.mark.thorough
@pytest.mark.parametrize("free, last", [(30.0, "finished"), (0.0, "timeout")])
def test_asking_is_not_counted_against_the_notebook_up_to_a_limit(
    free: float, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.runtime.execute.run.FREE_ASKING_SECONDS", free)
    limits = Limits(cell_seconds=1.5, notebook_seconds=1.5)
    evidence = run(SLOW, *["pass  # q1_a"] * 4, "q2_b = 2", asks="q1_a q2_b", limits=limits)
    assert outcomes(evidence)[-1] == last


# -- tidying up


# Ends at once, because the supervisor ends kernels whose files it can't count.
NESTED = """\
import os
for _ in range(150):
    os.mkdir("d" * 60)
    os.chdir("d" * 60)
os._exit(0)
"""


@pytest.mark.thorough
@EVERY_WAY
def test_folders_too_deep_to_name_cost_no_evidence_and_are_not_left(
    way: dict[str, Any], short: Path, own_nursery: KernelPool
) -> None:
    evidence = run("q1_a = 1", NESTED, "q2_b = 2", asks="q1_a q2_b", **way)
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["1", "2"]
    own_nursery.close()
    assert list(short.iterdir()) == []


def test_a_kernel_that_can_not_be_closed_costs_no_evidence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Clinging(KernelSession):
        def close(self) -> None:
            super().close()
            raise OSError("still there")

    monkeypatch.setitem(
        kernels._registered, "clinging", lambda options: Clinging(options, cold.start)
    )
    evidence = run("q1_a = 1", asks="q1_a", kernel="clinging", sandbox="off")
    assert value(evidence, "q1_a") == "1"
    assert "still there" in caplog.text
    assert "still there" not in str(evidence)


@pytest.mark.thorough
@EVERY_WAY
def test_an_error_in_ending_a_kernel_stops_neither_the_next_nor_the_rest_of_the_tidying(
    way: dict[str, Any], short: Path, own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = []

    def failing(self: object) -> None:
        failed.append(self)
        raise PermissionError("not today")

    monkeypatch.setattr("jupyter_client.client.KernelClient.stop_channels", failing)
    monkeypatch.setattr("grader.runtime.kernels.channels.Channels.close", failing)
    evidence = run("q1_a = 1", "import os\nos._exit(0)", "q2_b = 2", asks="q1_a q2_b", **way)
    assert [value(evidence, n) for n in ("q1_a", "q2_b")] == ["1", "2"]
    assert len(failed) >= 2
    own_nursery.close()
    assert list(short.iterdir()) == []


# -- what is not a notebook, and what is our own fault


def test_what_is_not_a_notebook_is_evidence_with_the_reason_for_every_answer() -> None:
    evidence = execute(a_job("q1_a", data=b"x"), b"x")
    why = "the file is not a notebook: not JSON at line 1, column 1"
    assert evidence.outcome is Outcome.CRASHED
    assert evidence.note == why
    assert absent(evidence, "q1_a") == why


def test_a_refused_submission_is_not_opened() -> None:
    job = a_job("q1_a")
    data = a_notebook("q1_a = 1")
    refused = execute(a_job("q1_a", submission=refusal_of(job.submission)), data)
    assert absent(refused, "q1_a") == "a symbolic link instead of a notebook; not followed"


def refusal_of(submission: Any) -> Any:
    from dataclasses import replace

    return replace(submission, refusal="a symbolic link instead of a notebook; not followed")


def test_an_empty_notebook_and_a_job_without_names_are_fine() -> None:
    data = a_notebook()
    evidence = execute(a_job(data=data), data)
    assert (evidence.outcome, evidence.answers, evidence.cells) == (Outcome.FINISHED, {}, ())


class Broken(Sandbox):
    """A sandbox in which the first so many processes don't start, or only those after a number."""

    def __init__(self, failures: float, command: list[str]) -> None:
        self.failures = failures
        self.command = command
        self.starts = 0
        self.births = 0
        self.most_births = float("inf")

    def wrap(self, command: Sequence[str], place: ScratchFolder) -> list[str]:
        self.starts += 1
        return self.command if self.starts <= self.failures else super().wrap(command, place)

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        self.births += 1
        found = dict(super().rlimits(limits, device))
        return found if self.births <= self.most_births else found | {"RLIMIT_NOFILE": 4}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, own_nursery: KernelPool) -> Callable[..., Broken]:
    def make(failures: float, *command: str) -> Broken:
        sandbox = Broken(failures, list(command))
        monkeypatch.setattr(sandboxes, "_registered", {"broken": sandbox})
        return sandbox

    return make


@EVERY_KERNEL
@pytest.mark.parametrize("command", [["/does/not/exist"], ["/bin/sh", "-c", "exit 7"]])
def test_a_kernel_that_can_not_start_is_tried_twice_and_is_our_fault(
    kernel: str, broken: Callable[..., Broken], command: list[str]
) -> None:
    sandbox = broken(float("inf"), *command)
    evidence = run("q1_a = 1", asks="q1_a", sandbox="broken", kernel=kernel)
    assert sandbox.starts == 2
    assert evidence.outcome is Outcome.REFUSED
    assert evidence.answers == {}
    assert str(evidence.note).startswith("we could not run this notebook; no points are deducted")


@EVERY_KERNEL
def test_a_disk_that_is_full_is_our_fault_and_no_path_is_told(
    kernel: str, own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: Any) -> str:
        raise OSError(28, "No space left on device", "/home/teacher/secret")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    evidence = run("q1_a = 1", asks="q1_a", kernel=kernel, sandbox="off")
    assert evidence.outcome is Outcome.REFUSED
    assert evidence.note == (
        "we could not run this notebook; no points are deducted (No space left on device)"
    )


@on_linux
def test_a_disk_that_is_full_when_a_parent_is_up_already_is_our_fault_too(
    own_nursery: KernelPool, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert value(run("q1_a = 1", asks="q1_a"), "q1_a") == "1"

    def full(self: Path, *_: object, **__: Any) -> None:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "mkdir", full)
    run("pass", asks="")  # takes the kernel that was ready
    evidence = run("q1_a = 1", asks="q1_a")
    monkeypatch.undo()
    assert evidence.outcome is Outcome.REFUSED
    assert evidence.note == (
        "we could not run this notebook; no points are deducted (No space left on device)"
    )


@EVERY_KERNEL
def test_a_kernel_that_starts_at_the_second_try_is_as_good(
    kernel: str, broken: Callable[..., Broken]
) -> None:
    broken(1, "/bin/sh", "-c", "exit 7")
    evidence = run("q1_a = 1", asks="q1_a", sandbox="broken", kernel=kernel)
    assert value(evidence, "q1_a") == "1"


@pytest.mark.thorough
@EVERY_KERNEL
def test_a_restart_that_fails_is_our_fault_too(kernel: str, broken: Callable[..., Broken]) -> None:
    sandbox = broken(0)
    sandbox.most_births = 2 if kernel == "warm" else 1  # a warm one has another ready
    die = "import os\nos._exit(1)"
    evidence = run(die, "pass", die, "q1_a = 1", asks="q1_a", sandbox="broken", kernel=kernel)
    assert evidence.outcome is Outcome.REFUSED
    assert evidence.answers == {}
    assert sandbox.births > sandbox.most_births


def test_a_machine_without_the_demanded_sandbox_is_an_error_of_the_set_up(
    broken: Callable[..., Broken],
) -> None:
    broken(0)
    with pytest.raises(SetupError, match="no sandbox on this machine has all the requested layers"):
        run("q1_a = 1", asks="q1_a", sandbox="required")


@EVERY_WAY
def test_stopping_ends_the_kernel_at_once(way: dict[str, Any]) -> None:
    if sys.platform != "linux":
        pytest.skip("other systems don't tell enough")
    mark = Mark()
    limits = Limits(cell_seconds=60, notebook_seconds=60)
    source = f"{mark.on_this_process}\nimport subprocess\nsubprocess.run({mark.command})"
    began = time.monotonic()
    with pytest.raises(StoppedError):
        run(source, asks="", limits=limits, stop=lambda: len(mark.processes()) == 2, **way)
    assert time.monotonic() - began < 30
    assert mark.is_gone()


@on_linux
@pytest.mark.slow
def test_a_cold_kernel_ends_by_itself_when_the_grader_is_killed(short: Path) -> None:
    """What it has started does not; of warm kernels nothing is left: see test_warm.py."""
    mark = Mark()
    source = f"{mark.on_this_process}\nimport time\ntime.sleep(60)"
    code = (
        "from tests.helpers.notebooks import run\n"
        f"run({source!r}, asks='', kernel='cold', sandbox='off')"
    )
    grader = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(short)},
    )
    started = until(lambda: bool(mark.processes()), 40)
    grader.kill()
    grader.wait()
    assert started
    assert mark.is_gone()


@pytest.mark.thorough
@EVERY_WAY
def test_no_folder_of_a_kernel_is_left(
    way: dict[str, Any], short: Path, own_nursery: KernelPool
) -> None:
    where = value(run("import os\nq1_a = os.getcwd()", asks="q1_a", **way), "q1_a")
    assert Path(where).is_relative_to(short) == bool(way)
    for ending in ("pass", "import os\nos._exit(0)", "import os\nos.mkdir('x')\nos.chmod('x', 0)"):
        run("q1_a = 1", ending, asks="q1_a q2_b", limits=SHORT, **way)
    own_nursery.close()
    assert list(short.iterdir()) == []


@pytest.mark.slow
def test_eight_notebooks_on_two_threads_take_seconds() -> None:
    cells = [f"q{n}_x = {n} * 2\nprint(q{n}_x)" for n in range(1, 15)]
    names = " ".join(f"q{n}_x" for n in range(1, 15))
    began = time.monotonic()
    with ThreadPoolExecutor(2) as executor:
        done = list(executor.map(lambda _: run("import numpy", *cells, asks=names), range(8)))
    assert all(e.outcome is Outcome.FINISHED for e in done)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "source, modules",
    [
        ("x = 'import torch'\n# from torch import nn, or numpy", ()),
        ("import numpy as np", ("numpy",)),
        ("def f():\n    from torch import nn", ("numpy", "torch")),
        ("import json, torch\nf = torch.compile(g)", ("numpy", "torch", "torch._dynamo")),
        ("import torch\ncheckpoint(f, x)", ("numpy", "torch", "torch._dynamo")),
        ("import torch\nfrom torch import func", ("numpy", "torch", "torch._dynamo")),
        ("import torch.distributed as dist\ndef jit(): pass", ("numpy", "torch")),
    ],
)
def test_only_what_a_notebook_imports_is_preloaded(source: str, modules: tuple[str, ...]) -> None:
    cells = [
        Cell(type="code", source=source, id="c"),
        Cell(type="markdown", source="import torch", id="m"),
    ]
    assert _modules_to_preload(cells, (), ()) == modules
    # What others need is loaded as well, where anything is.
    assert ("torch" in _modules_to_preload(cells, (), ("torch",))) is bool(modules)
