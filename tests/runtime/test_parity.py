"""The same notebook leaves the same evidence behind a wall, forked without one, and cold."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

import pytest

from grader.model import Evidence, Limits, Outcome
from tests.helpers.kernels import WAYS, on_linux
from tests.helpers.notebooks import run

ROOMY = Limits(cell_seconds=30.0, notebook_seconds=300.0)
SHORT = Limits(cell_seconds=1.5, notebook_seconds=60.0)

# What happens in notebooks, in one notebook: cells that raise cost nothing to the others.
CELLS = {
    "print": "print('a', 1); print('b', end='')",
    "both streams": "import sys\nprint('out'); print('err', file=sys.stderr); print('out again')",
    "progress": "for i in range(3): print(f'\\r{i}', end='', flush=True)",
    "error": "x = 1\n\nx / 0",
    "error in a function": "def f(n):\n    return f(n - 1) if n else {}['k']\nf(3)",
    "error in a library": "import json\n\njson.loads('{')",
    "chained error": "try:\n    1 / 0\nexcept Exception as e:\n    raise ValueError('v') from e",
    "error while handling": "try:\n    1 / 0\nexcept Exception:\n    {}['k']",
    "group of errors": "raise ExceptionGroup('g', [ValueError('a'), TypeError('b')])",
    "long error": "raise ValueError('z' * 1000)",
    "error of several lines": "raise ValueError('a\\nb')",
    "own error": "class Mine(BaseException): pass\nraise Mine('mine')",
    "syntax error": "a = 1\nb = (2 +\n",
    "another syntax error": "a = 1\nb = 2 3",
    "indentation": "def f():\nreturn 1",
    "no such name": "undefined_name",
    "assertion": "assert 1 == 2, 'no'",
    "printed traceback": "import traceback\ntry: 1 / 0\nexcept Exception: traceback.print_exc()",
    "value": "x = [1, 'two', 3.0, None]\nx",
    "value of a line before": "1\n2",
    "silenced value": "1 + 1;",
    "history": "In[1], len(Out) > 0, _",
    "object": "class A:\n    def __repr__(self): return 'an A'\n"
    "    def _repr_html_(self): return '<i>A</i>'\nA()",
    "broken object": "class B:\n    def __repr__(self): raise ValueError('no')\nB()",
    "html": "from IPython.display import HTML, Image, display\ndisplay(HTML('<b>x</b>'), 3)",
    "picture": "Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'0' * 16, format='png')",
    "clear_output": "from IPython.display import clear_output, update_display\n"
    "print('gone'); clear_output(); print('kept')",
    "update_display": "display('one', display_id='d'); update_display('two', display_id='d')",
    "%time": "%time y = 2\ny",
    "%%time": "%%time\nz = 3\nprint(z)",
    "%%capture": "%%capture got\nprint('hidden')\n1 + 1",
    "captured": "got.stdout",
    "%timeit": "%timeit -n 1 -r 1 y",
    "files": "for name in 'ba': open(name + '.txt', 'w').write('x')",
    "!ls": "!ls",
    "!value": "files = !ls\nfiles",
    "!status": "!echo oops >&2; exit 3\n_exit_code",
    "%%bash": "%%bash\necho from bash\necho error >&2",
    "%%bash that fails": "%%bash\nexit 4",
    "unknown magic": "%nosuchmagic",
    "%%writefile": "%%writefile made.py\nvalue = 7",
    "own module": "import made\nmade.value",
    "%run": "%run made.py\nvalue",
    "%load_ext": "%load_ext autoreload\n%autoreload 2",
    "%cd": "import os\nos.mkdir('sub')\n%cd -q sub\nos.path.basename(os.getcwd())",
    "%cd back": "%cd -q ..\nos.path.basename(os.getcwd())",
    "%pwd": "os.path.basename(get_ipython().run_line_magic('pwd', ''))",
    "%env": "%env TZ",
    "%who": "%who_ls int",
    "%store": "kept = 3\n%store kept",
    "%precision": "%precision 3\n3.14159",
    "%precision off": "%precision %r",
    "await": "import asyncio\nawait asyncio.sleep(0.01)\n'awaited'",
    "gather": "async def g(n):\n    await asyncio.sleep(0)\n    return n\n"
    "await asyncio.gather(g(1), g(2))",
    "error after an await": "await asyncio.sleep(0)\n1 / 0",
    "task": "task = asyncio.create_task(g(5))",
    "task that is done": "await task",
    "input": "input('? ')",
    "getpass": "import getpass\ngetpass.getpass()",
    "exit()": "exit()",
    "quit": "quit",
    "magic without its sign": "pwd",
    "a name like a magic": "who = 3",
    "sys.exit": "sys.exit(3)",
    "sys.exit with a word": "sys.exit('stopped here')",
    "SystemExit": "raise SystemExit",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "thread": "import threading, time\nt = threading.Thread(target=print, args=('in a thread',))\n"
    "t.start(); t.join()",
    "late thread": "def late():\n    time.sleep(0.1); print('late')\n"
    "t = threading.Thread(target=late)\nt.start()",
    "late thread that is joined": "t.join(); print('joined')",
    "subprocess": "import subprocess\nsubprocess.run(['echo', 'from a child']).returncode",
    "subprocess that is read": "subprocess.check_output(['echo', 'x'], text=True)",
    "os.system": "os.system('echo system')",
    "os.write": "os.write(1, b'raw\\n'); os.write(2, b'raw too\\n')",
    "puts": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.puts(b'from C'); libc.fflush(None)",
    "multiprocessing": "import multiprocessing\nfork = multiprocessing.get_context('fork')\n"
    "p = fork.Process(target=print, args=('from a process',))\np.start(); p.join(); p.exitcode",
    "pool": "with fork.Pool(2) as pool: print(pool.map(abs, [-1, -2]))",
    "fork": "pid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    os._exit(0)\n"
    "os.waitpid(pid, 0)[1]",
    "shared memory": "from multiprocessing import shared_memory\n"
    "s = shared_memory.SharedMemory(create=True, size=10)\ns.close(); s.unlink()",
    "warning": "import warnings\nwarnings.warn('careful')",
    "own deprecation": "def old(): warnings.warn('old', DeprecationWarning)\nold()",
    "logging": "import logging\nlogging.warning('logged')\nlogging.info('not')",
    "redirected": "import contextlib, io\nbuffer = io.StringIO()\n"
    "with contextlib.redirect_stdout(buffer): print('caught')\nbuffer.getvalue()",
    "stdout replaced": "old, sys.stdout = sys.stdout, io.StringIO()\nprint('into the void')",
    "stdout put back": "sys.stdout = old\nprint('back')",
    "stdin": "sys.stdin.read()",
    "a terminal": "sys.stdout.isatty(), sys.stdout.encoding",
    "any text": "print('é ✓ \\U0001F600 \\x00 \\x1b[31mred\\x1b[0m')",
    "half a character": "print('\\ud800')",
    "half a character in an error": "raise ValueError('\\udfff')",
    "half a character shown": "class C:\n    def __repr__(self): return '\\ud800'\nC()",
    "random": "import random, numpy as np\nrandom.random(), np.random.rand()",
    "own generator": "np.random.default_rng(3).random(), random.Random(3).random()",
    "hash": "hash('x')",
    "signal": "import signal\nos.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "alarm": "_ = signal.signal(signal.SIGALRM, lambda *_: print('ring'))\n"
    "_ = signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(0.2)",
    "home": "open(os.path.expanduser('~/x'), 'w').write('1')",
    "sqlite": "import sqlite3\nsqlite3.connect('x.db').execute('select 1').fetchall()",
    "source": "import inspect\ninspect.getsource(f)",
    "help": "help(len)",
    "len?": "len?",
    "main": "__name__, '__file__' in globals()",
    "atexit": "import atexit\n_ = atexit.register(print, 'bye')",
    "events": "get_ipython().events.register('post_execute', lambda: print('post'))",
    "after events": "1",
    "array": "np.arange(3)",
    "answers": "q1_a: int = 5\nq2_b = np.float32(0.1)\nq3_c = {'k': [1, None, 'é']}\nq4_d = A()",
}
ASKS = "q1_a q2_b q3_c q4_d q5_e"


def plain(text: str | None) -> str:
    """*text* without what may differ: numbers of processes, places in memory, times, terminals."""
    text = text or ""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", text)
    text = re.sub(
        r"<ipython-input-[\w-]+>|~/tmp/ipykernel_\d+/\d+\.py|Cell In\[\d+\]", "CELL", text
    )
    text = re.sub(r"(CPU times|Wall time).*|[\d.]+ \S+ ± .* per loop.*", r"\1", text)
    text = re.sub(r"\bThread-\d+", "Thread", text)
    return re.sub(r"\s+", " ", text)  # !ls writes columns to a terminal, and lines elsewhere


def story(evidence: Evidence) -> Mapping[str, tuple[object, ...]]:
    """How every cell of CELLS went."""
    assert evidence.outcome is not Outcome.REFUSED, evidence.note
    cells = zip(CELLS, evidence.cells, strict=True)
    return {
        name: (run.outcome, plain(run.error), run.line, plain(run.output)) for name, run in cells
    }


# What differs from a cold kernel, and why that is as it should be.
BETTER = {
    "half a character",  # where others print their own tracebacks
    "half a character in an error",
    "half a character shown",
    "group of errors",  # whose line cold kernels don't tell
    "unknown magic",  # the same
    "puts",  # which cold kernels catch late, by a thread
    "os.write",  # the same, by two
}


def check(told: Mapping[str, tuple[object, ...]]) -> None:
    """So that no two ways agree on what is wrong."""
    finished = Outcome.FINISHED
    assert told["own module"] == (finished, "", None, "7 ")
    assert told["%cd"] == (finished, "", None, "'sub' ")
    assert told["%cd back"] == (finished, "", None, "'work' ")
    assert told["!ls"] == (finished, "", None, "a.txt b.txt ")
    assert told["%%capture"] == (finished, "", None, "")
    assert told["captured"] == (finished, "", None, "'hidden\\n' ")
    assert told["error"] == (finished, "ZeroDivisionError: division by zero", 3, "")
    assert told["error in a function"] == (finished, "KeyError: 'k'", 3, "")
    assert told["error in a library"][2] == 3
    assert told["chained error"] == (finished, "ValueError: v", 4, "")
    assert told["syntax error"] == (finished, "SyntaxError: incomplete input", 2, "")
    assert told["another syntax error"] == (finished, "SyntaxError: invalid syntax", 2, "")
    assert told["await"] == (finished, "", None, "'awaited' ")
    assert told["gather"] == (finished, "", None, "[1, 2] ")
    assert told["task that is done"] == (finished, "", None, "5 ")
    assert told["thread"] == (finished, "", None, "in a thread ")
    assert told["late thread that is joined"] == (finished, "", None, "late joined ")
    assert told["subprocess"] == (finished, "", None, "from a child 0 ")
    assert told["os.write"] == (finished, "", None, "raw raw too 8 ")
    assert told["puts"] == (finished, "", None, "from C 0 ")
    assert told["multiprocessing"] == (finished, "", None, "from a process 0 ")
    assert told["pool"] == (finished, "", None, "[1, 2] ")
    assert told["fork"] == (finished, "", None, "child 0 ")
    assert told["stdout replaced"] == (finished, "", None, "")
    assert told["half a character"] == (finished, "", None, "? ")
    assert told["half a character in an error"] == (finished, "ValueError: ?", 1, "")
    assert told["signal"][:2] == (finished, "KeyboardInterrupt")
    assert told["after events"][3] == "1 post "
    assert told["object"][3] == "an A "


@pytest.mark.thorough
@on_linux
def test_every_kind_of_cell_behind_the_wall_is_as_without_one() -> None:
    wall = run(*CELLS.values(), asks=ASKS, limits=ROOMY, **WAYS["wall"])
    fork = run(*CELLS.values(), asks=ASKS, limits=ROOMY, **WAYS["fork"])
    assert story(wall) == story(fork)
    assert wall.answers == fork.answers
    assert wall.outcome is Outcome.FINISHED
    assert wall.environment["restarts"] == 0
    check(story(wall))


@on_linux
@pytest.mark.slow
def test_every_kind_of_cell_in_a_forked_kernel_is_as_in_a_cold_one() -> None:
    fork = run(*CELLS.values(), asks=ASKS, limits=ROOMY, **WAYS["fork"])
    warm = {name: told for name, told in story(fork).items() if name not in BETTER}
    for _ in range(3):  # what is written past Python a cold kernel may catch a cell late
        cold = run(*CELLS.values(), asks=ASKS, limits=ROOMY, **WAYS["cold"])
        other = {name: told for name, told in story(cold).items() if name not in BETTER}
        if warm == other:
            break
    assert warm == other
    assert fork.answers == cold.answers
    assert cold.environment["restarts"] == 0


# -- notebooks whose kernels die or have to be stopped

FIRST, LAST = "q1_a = 1", "q2_b = q1_a + 1"
DEATHS = {
    "os._exit": "import os\nos._exit(3)",
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "kill -9 of itself": "import os\nos.kill(os.getpid(), 9)",
}
MORE_DEATHS = {
    "abort": "import os\nos.abort()",
    "its whole group": "import os\nos.killpg(0, 9)",
    "another program": "import os\nos.execv('/bin/true', ['true'])",
    "the parent leaves": "import os\nif os.fork(): os._exit(0)\nq1_a = 7",
}
ENDLESS = {
    "swallows interrupts": "import time\nwhile True:\n    try: time.sleep(1)\n"
    "    except KeyboardInterrupt: pass",
    "catches one": "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
    "    print('caught')\nq1_a = 5",
    "prints": "while True: print('x' * 1000)",
}
MORE_ENDLESS = {
    "cleans up for long": "import time\ntry: time.sleep(60)\nfinally: time.sleep(60)",
    "waits for a thread": "import threading, time\n"
    "t = threading.Thread(target=time.sleep, args=(60,))\nt.start(); t.join()",
    "waits for a lock": "import threading\nlock = threading.Lock()\nlock.acquire(); lock.acquire()",
    "waits for a program": "!sleep 60",
    "is asleep in C": "import ctypes\nctypes.CDLL(None).sleep(60)",
    "backtracks": "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    "ignores the signal": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "while True: pass",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "becomes another program": "import os\nos.execv('/bin/sleep', ['sleep', '60'])",
    "writes": "import os\nwhile True: os.write(1, b'x' * 10)",
    "shows": "from IPython.display import display\nwhile True: display('x' * 1000)",
}
FLOODS = {
    "in lines": "for i in range(200): print('x' * 1_000_000)",
    "at once": "print('x' * 200_000_000)",
    "past Python": "import os\nfor i in range(200): os.write(1, b'x' * 1_000_000)",
    "by a program": "!yes | head -c 200000000",
}


def course(sources: Mapping[str, str], way: str, limits: Limits) -> object:
    """What comes of a notebook with each of *sources*, but for what was printed."""
    found = {}
    for name, source in sources.items():
        evidence = run(FIRST, source, LAST, asks="q1_a q2_b", limits=limits, **WAYS[way])
        outcomes = [(cell.outcome, cell.error, cell.line) for cell in evidence.cells]
        found[name] = (outcomes, evidence.answers, evidence.environment.get("restarts"))
    return found


@pytest.mark.thorough
@on_linux
def test_kernels_that_die_behind_the_wall_die_as_without_one() -> None:
    wall = course(DEATHS, "wall", SHORT)
    assert wall == course(DEATHS, "fork", SHORT)


@on_linux
@pytest.mark.slow
def test_kernels_that_die_are_the_same_cold() -> None:
    wall = course(MORE_DEATHS, "wall", SHORT)
    assert wall == course(MORE_DEATHS, "fork", SHORT)
    closed = {"closed files": "import os\nos.closerange(0, 100)"}  # cold, one dies of its library
    assert course(closed, "wall", SHORT) == course(closed, "fork", SHORT)
    everything = {**DEATHS, **MORE_DEATHS}
    assert course(everything, "fork", SHORT) == course(everything, "cold", SHORT)


@pytest.mark.slow
@on_linux
def test_endless_cells_behind_the_wall_are_stopped_as_without_one() -> None:
    wall = course(ENDLESS, "wall", SHORT)
    assert wall == course(ENDLESS, "fork", SHORT)


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MORE_ENDLESS)
def test_an_endless_cell_costs_itself_and_nothing_else(name: str, way: str) -> None:
    evidence = run(FIRST, MORE_ENDLESS[name], LAST, asks="q1_a q2_b", limits=SHORT, **WAYS[way])
    outcomes = [cell.outcome for cell in evidence.cells]
    assert outcomes == [Outcome.FINISHED, Outcome.TIMEOUT, Outcome.FINISHED]
    assert evidence.cells[1].error == "ran longer than 1.5 s"
    assert [evidence.answers[n].raw["v"] for n in ("q1_a", "q2_b")] == ["1", "2"]


@on_linux
@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.parametrize("way", ["wall", pytest.param("fork", marks=pytest.mark.slow)])
def test_200_mb_of_output_are_cut_and_the_rest_runs(name: str, way: str) -> None:
    output = flooded(name, way)
    cut = re.search(r"\[\.\.\. (\d+) bytes were cut here \.\.\.\]", output)
    assert cut is not None
    assert 199_000_000 < int(cut[1]) + ROOMY.output_bytes < 201_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FLOODS if name != "by a program"])
def test_200_mb_of_output_stop_no_cold_kernel(name: str) -> None:
    flooded(name, "cold")


def flooded(name: str, way: str) -> str:
    """What is kept of the output of one of FLOODS."""
    evidence = run(FIRST, FLOODS[name], LAST, asks="q1_a q2_b", limits=ROOMY, **WAYS[way])
    assert [cell.outcome for cell in evidence.cells] == [Outcome.FINISHED] * 3
    assert evidence.answers["q2_b"].raw == {"t": "int", "v": "2"}
    output = evidence.cells[1].output
    assert len(output) < ROOMY.output_bytes + 100
    return output


# -- libraries


@pytest.mark.parametrize(
    "way",
    [
        *(["wall"] if sys.platform == "linux" else []),
        *(pytest.param(w, marks=pytest.mark.slow) for w in WAYS if w != "wall"),
    ],
)
def test_pictures_are_drawn_in_the_notebook(way: str) -> None:
    pytest.importorskip("matplotlib")
    evidence = run(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nq1_a = plt.get_backend()",
        "figure, axes = plt.subplots()\n_ = axes.plot([1, 2, 3])",
        "plt.plot([1, 2]); plt.show()\nq2_b = len(plt.get_fignums())",
        asks="q1_a q2_b",
        limits=ROOMY,
        **WAYS[way],
    )
    assert [cell.error for cell in evidence.cells] == [None] * 3
    assert str(evidence.answers["q1_a"].raw["v"]).endswith("inline")
    assert "<Figure size 640x480 with 1 Axes>" in evidence.cells[1].output
    assert "<Figure size 640x480 with 1 Axes>" in evidence.cells[2].output
    assert evidence.answers["q2_b"].raw["v"] == "0"


@on_linux
@pytest.mark.slow
def test_torch_is_as_cold() -> None:
    pytest.importorskip("torch")
    cells = (
        "import torch",
        "q1_a = torch.rand(3)\nq2_b = torch.get_num_threads()",
        "model = torch.nn.Linear(4, 2)\nq3_c = model(torch.ones(4)).detach()",
        "model(torch.ones(5))",
        "from torch.utils.data import DataLoader\n"
        "q4_d = [b.sum().item() for b in DataLoader(torch.arange(8), batch_size=4, num_workers=2)]",
        "q5_e = torch.cuda.is_available()",
    )
    wall, fork, cold = (run(*cells, asks=ASKS, limits=ROOMY, **WAYS[way]) for way in WAYS)
    assert wall.answers == fork.answers == cold.answers
    assert [c.error for c in wall.cells] == [c.error for c in fork.cells]
    assert [c.error for c in fork.cells] == [c.error for c in cold.cells]
    assert wall.answers["q4_d"].raw is not None, wall.cells[4].error
