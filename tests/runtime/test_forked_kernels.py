"""Kernels forked from one parent: each on its own, none with a secret, and gone with the grader."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("elsewhere kernels start cold", allow_module_level=True)

from grader.model import Evidence, Limits, Outcome
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.sandbox import choose_sandbox
from grader.runtime.worker.plan import KernelStart
from tests.helpers.kernels import LONG, Mark, until, with_children
from tests.helpers.notebooks import run

ROOT = Path(__file__).parents[2]
LAYERS = set(choose_sandbox("auto").describe()["layers"])  # type: ignore[call-overload]
BOTH = pytest.mark.parametrize("sandbox", ["auto", "off"])


def value(evidence: Evidence, name: str) -> Any:
    """What the answer *name* holds, as plain Python as far as lists go."""
    raw = evidence.answers[name].raw
    assert raw is not None, evidence.answers[name].absent
    return unwrapped(raw)


def unwrapped(raw: Mapping[str, Any]) -> Any:
    return [unwrapped(item) for item in raw["v"]] if raw["t"] == "list" else raw.get("v")


def of_one_parent(sources: list[str], asks: str, sandbox: str, count: int = 2) -> list[Evidence]:
    """The evidence of the same notebook *count* times, with kernels of the same parent."""
    return [run(*sources, asks=asks, sandbox=sandbox) for _ in range(count)]


# -- each on its own

CHANCE = """\
import os, random, secrets, tempfile, uuid
import numpy as np
q1_a = [random.random(), float(np.random.rand()), hash("x")]
q2_b = [os.urandom(8).hex(), str(uuid.uuid4()), str(uuid.uuid1()), secrets.token_hex(8),
        random.SystemRandom().random(), float(np.random.default_rng().random()),
        next(tempfile._get_candidate_names()), random.Random().random()]
"""


@pytest.mark.thorough
@BOTH
def test_what_is_seeded_is_the_same_for_all_and_what_is_not_differs(sandbox: str) -> None:
    first, second = of_one_parent([CHANCE], "q1_a q2_b", sandbox)
    assert value(first, "q1_a") == value(second, "q1_a")
    same = set(map(str, value(first, "q2_b"))) & set(map(str, value(second, "q2_b")))
    assert same == set()


@BOTH
@pytest.mark.slow
def test_torch_is_seeded_in_every_kernel_and_not_shared(sandbox: str) -> None:
    pytest.importorskip("torch")
    source = "import torch\nq1_a = torch.rand(3).tolist()\nq2_b = torch.seed()"
    first, second = of_one_parent([source], "q1_a q2_b", sandbox)
    assert value(first, "q1_a") == value(second, "q1_a")
    assert value(first, "q2_b") != value(second, "q2_b")


OWN = """\
import os, pathlib, sys, threading
kernel = get_ipython().kernel
q1_a = kernel.session.key.decode()
q2_b = kernel.session.session
q3_c = sorted(os.environ) + sys.path
"""
LEAVES = """\
import builtins, json, os, pathlib, tempfile
import numpy as np
for folder in (".", "..", pathlib.Path.home(), tempfile.gettempdir(), "/dev/shm"):
    try: pathlib.Path(folder, "left-behind").write_text("the answer is 42")
    except OSError: pass
os.environ["LEFT"] = "42"
builtins.left = json.left = np.left = 42
np.random.seed(1)
get_ipython().db["left"] = 42
get_ipython().push({"left": 42})
"""
FINDS = """\
import builtins, json, os, pathlib, tempfile
import numpy as np
q1_a = [str(found) for folder in (".", "..", pathlib.Path.home(), tempfile.gettempdir(), "/dev/shm")
        for found in pathlib.Path(folder).glob("left-behind")]
q2_b = [hasattr(o, "left") for o in (builtins, json, np)] + ["left" in globals()]
q3_c = ["LEFT" in os.environ, "left" in get_ipython().db]
q4_d = get_ipython().execution_count
"""


@pytest.mark.thorough
@BOTH
def test_kernels_of_one_parent_have_nothing_from_each_other(sandbox: str) -> None:
    first, second = of_one_parent([OWN], "q1_a q2_b q3_c", sandbox)
    for name in ("q1_a", "q2_b"):
        assert value(first, name) != value(second, name)
    assert value(first, "q3_c") == value(second, "q3_c")
    assert run(LEAVES, asks="", sandbox=sandbox).cells[0].error is None
    found = run(FINDS, asks="q1_a q2_b q3_c q4_d", sandbox=sandbox)
    left = [path for path in value(found, "q1_a") if sandbox == "auto" or "/dev/shm" not in path]
    Path("/dev/shm/left-behind").unlink(missing_ok=True)
    assert left == []
    assert value(found, "q2_b") == [False] * 4
    assert value(found, "q3_c") == [False] * 2
    assert value(found, "q4_d") == "2"  # as in every notebook: the first cell is being run


DESCRIPTORS = """\
import os, re
def kind(fd):
    try: target = os.readlink(f"/proc/self/fd/{fd}")
    except OSError: return "gone"  # the one that lists them
    return re.sub(r"[/\\w.-]*/\\.printed", "printed", re.sub(r"\\[\\d+\\]", "", target))
q1_a = {int(fd): kind(fd) for fd in os.listdir("/proc/self/fd")}
q2_b = sorted(set(q1_a.values()) - {"gone"})
q3_c = [q1_a[0], q1_a[1], q1_a[2]]
"""


@BOTH
def test_a_kernel_has_no_open_file_but_its_own(sandbox: str) -> None:
    evidence = run(DESCRIPTORS, asks="q2_b q3_c", sandbox=sandbox)
    printed = "printed (deleted)"
    assert value(evidence, "q3_c") == ["/dev/null", printed, printed]
    own = {"/dev/null", printed, "anon_inode:[eventfd]", "anon_inode:[eventpoll]", "socket:"}
    assert set(value(evidence, "q2_b")) <= own


STATE = """\
import gc, os, sys, threading
q1_a = [t.name for t in threading.enumerate()]
q2_b = sorted(n for n, m in sys.modules.items() if m and n.partition(".")[0] == "grader")
q3_c = "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized()
q4_d = os.path.exists("/proc/self/task") and len(os.listdir("/proc/self/task"))
"""


@pytest.mark.thorough
@BOTH
def test_a_kernel_has_no_thread_but_its_own_and_no_module_of_ours(
    sandbox: str,
) -> None:
    evidence = run(STATE, asks="q1_a q2_b q3_c q4_d", sandbox=sandbox)
    assert value(evidence, "q1_a") == ["MainThread"]
    assert value(evidence, "q2_b") == []
    assert value(evidence, "q3_c") is False
    assert value(evidence, "q4_d") in ("False", "1")  # there may be no /proc


@pytest.mark.skipif("files" not in LAYERS, reason="no layer hides files here")
@pytest.mark.parametrize(
    "module",
    ["grader", "grader.grading.score", "grader.runtime.worker.kernel", "grader.wire.encoding"],
)
def test_our_code_can_not_be_imported_behind_the_wall(module: str) -> None:
    evidence = run(f"import {module}", "q1_a = 1", asks="q1_a")
    assert str(evidence.cells[0].error).startswith(("ModuleNotFoundError", "ImportError"))
    assert value(evidence, "q1_a") == "1"


def threads_and_libraries(own_nursery: KernelPool, sandbox: str) -> tuple[int, str]:
    (parent,) = own_nursery.servers
    found = with_children([parent._process.pid])
    # Behind the wall the parent itself is the child of its starter; without, all others are guards.
    nest = found[0] if sandbox == "off" else found[1]
    return len(list(Path(f"/proc/{nest}/task").iterdir())), Path(f"/proc/{nest}/maps").read_text()


@BOTH
@pytest.mark.parametrize(
    "imports", ["import numpy", pytest.param("import torch", marks=pytest.mark.slow)]
)
def test_a_parent_has_one_thread_and_nothing_of_a_gpu(
    sandbox: str, imports: str, own_nursery: KernelPool
) -> None:
    pytest.importorskip(imports.split()[1])
    assert run(imports, "q1_a = 1", asks="q1_a", sandbox=sandbox).outcome is Outcome.FINISHED
    threads, maps = threads_and_libraries(own_nursery, sandbox)
    assert threads == 1
    assert "_multiarray_umath" in maps  # it is the one that has imported numpy
    assert "/dev/nvidia" not in maps


# -- nothing secret

HELD = """\
import hashlib
def held(start_of_it, digest):
    count = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if "r" not in rights or "[v" in line:
                continue
            try:
                memory.seek(start)
                data = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            at = data.find(start_of_it)
            while at >= 0:
                count += hashlib.sha256(data[at : at + 32]).hexdigest() == digest
                at = data.find(start_of_it, at + 1)
            del data
    return count
"""


def search(secret: str) -> str:
    """Source that counts how often *secret*, of 32 characters, is in memory without naming it."""
    return f"held({secret[:8].encode()!r}, {hashlib.sha256(secret.encode()).hexdigest()!r})"


IN_MEMORY = secrets.token_hex(16)


@pytest.mark.thorough
@BOTH
def test_no_secret_of_the_grader_is_in_the_memory_of_a_kernel(
    sandbox: str, own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_environment, known = secrets.token_hex(16), secrets.token_hex(16)
    monkeypatch.setenv("GRADER_KEY", in_environment)
    evidence = run(
        f"{HELD}\nknown = {known!r}",
        f"q1_a = {search(known)}",
        f"q2_b = {search(IN_MEMORY)} + {search(in_environment)}",
        asks="q1_a q2_b",
        sandbox=sandbox,
    )
    assert int(value(evidence, "q1_a")) > 0  # so the search finds what is there
    assert value(evidence, "q2_b") == "0"


@BOTH
def test_a_kernel_does_not_know_the_keys_of_those_before_it(sandbox: str) -> None:
    own = "key = get_ipython().kernel.session.key.decode()[:32]"
    sha = "q1_a = key[:8], hashlib.sha256(key.encode()).hexdigest()"
    first = run(HELD, own, "q1_a = key", asks="q1_a", sandbox=sandbox)
    key = value(first, "q1_a")
    second = run(HELD, own, sha, f"q2_b = {search(key)}", asks="q2_b", sandbox=sandbox)
    assert len(key) == 32
    assert value(second, "q2_b") == "0"


# -- parents that die, graders that die


def parents_of(nursery: KernelPool) -> list[int]:
    """The numbers of the processes that were started for parents, with what they have started."""
    return with_children(parent._process.pid for parent in nursery.servers)


def is_parent(pid: int) -> bool:
    try:
        return b"grader.runtime.worker.fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def end(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # with the first others end, too
            os.kill(pid, signal.SIGKILL)


@pytest.mark.thorough
@BOTH
def test_a_parent_that_is_killed_while_a_notebook_runs_costs_the_student_nothing(
    sandbox: str, own_nursery: KernelPool
) -> None:
    mark = Mark()
    sleeps = f"{mark.on_this_process}\nimport time\ntime.sleep(2)\nq1_a = 1"
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(run, sleeps, asks="q1_a", limits=LONG, sandbox=sandbox)
        assert until(lambda: bool(mark.processes()), 30)
        kernel = mark.processes()
        killed = [p for p in parents_of(own_nursery) if is_parent(p) and p not in kernel]
        end(killed)
        evidence = running.result(timeout=60)
    assert killed
    if evidence.outcome is Outcome.REFUSED:
        assert evidence.answers == {}
        assert "no points are deducted" in str(evidence.note)
    else:
        assert evidence.outcome is Outcome.FINISHED, evidence.note
        assert value(evidence, "q1_a") == "1"
    assert mark.is_gone()
    after = run("q1_a = 2", asks="q1_a", limits=LONG, sandbox=sandbox)
    assert value(after, "q1_a") == "2"
    assert not set(parents_of(own_nursery)) & set(killed)


@pytest.mark.thorough
@BOTH
def test_a_guard_that_fails_while_a_notebook_runs_costs_the_student_nothing(
    sandbox: str, own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[Any] = ["which is no number"]  # of processes, for the first kernel alone

    def spoil(**start: Any) -> Any:
        start["processes"] = limits.pop() if limits else start["processes"]
        return KernelStart(**start)  # type: ignore[typeddict-item]

    monkeypatch.setattr("grader.runtime.kernels.fork_server.KernelStart", spoil)
    evidence = run("import time\ntime.sleep(1)\nq1_a = 1", asks="q1_a", sandbox=sandbox)
    assert not limits
    assert evidence.outcome is Outcome.FINISHED, evidence.note
    assert value(evidence, "q1_a") == "1"


@pytest.mark.thorough
@BOTH
def test_a_parent_that_is_killed_between_notebooks_is_replaced(
    sandbox: str, own_nursery: KernelPool
) -> None:
    assert value(run("q1_a = 0", asks="q1_a", sandbox=sandbox), "q1_a") == "0"
    killed = [pid for pid in parents_of(own_nursery) if is_parent(pid)]
    end(killed)
    # A kernel that was kept ready may die just when it is taken: then that one is refused.
    first, second = (run("q1_a = 1", asks="q1_a", sandbox=sandbox) for _ in range(2))
    assert first.outcome in (Outcome.FINISHED, Outcome.REFUSED)
    assert value(second, "q1_a") == "1"
    assert not set(parents_of(own_nursery)) & set(killed)


@pytest.fixture
def grader(short: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts another grader that runs a notebook of the given cells."""
    started = []

    def start(*cells: str, sandbox: str) -> subprocess.Popen[bytes]:
        code = (
            "from tests.helpers.notebooks import run\n"
            "from tests.helpers.kernels import LONG\n"
            f"run(*{cells!r}, asks='', limits=LONG, sandbox={sandbox!r})"
        )
        environment = {**os.environ, "TMPDIR": str(short)}
        started.append(subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def of_grader(short: Path) -> list[int]:
    """Processes of the parents whose folder is in *short*, whoever has adopted them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(short).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.thorough
@BOTH
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_nothing_is_left_of_a_grader_that_ends(
    sandbox: str, how: signal.Signals, short: Path, grader: Callable[..., subprocess.Popen[bytes]]
) -> None:
    mark = Mark()
    child = f"import subprocess\nsubprocess.run({mark.command})"
    process = grader(f"{mark.on_this_process}\n{child}", sandbox=sandbox)
    assert until(lambda: len(mark.processes()) == 2, 40)
    assert of_grader(short)
    process.send_signal(how)
    process.wait(timeout=20)
    assert until(lambda: not of_grader(short) and not mark.processes())
    if how is signal.SIGINT:
        assert list(short.iterdir()) == []


@pytest.mark.thorough
def test_the_folder_of_a_grader_that_was_killed_is_removed_by_the_next(
    short: Path, grader: Callable[..., subprocess.Popen[bytes]], own_nursery: KernelPool
) -> None:
    mark = Mark()
    process = grader(f"{mark.on_this_process}\nimport time\ntime.sleep(60)", sandbox="auto")
    assert until(lambda: bool(mark.processes()), 40)
    process.kill()
    process.wait()
    assert mark.is_gone()
    (left,) = short.glob("grader-*")

    def old() -> bool:
        """Makes it so: one that is being made, or was touched by what is ending, is let alone."""
        os.utime(left, (0, 0))
        time.sleep(0.3)
        return left.stat().st_mtime == 0

    assert until(old)
    run("pass", asks="")
    assert not left.exists()


# -- many at a time


@BOTH
def test_eight_notebooks_in_four_threads(sandbox: str) -> None:
    def one(n: int) -> tuple[Any, Any]:
        evidence = run(
            f"import time\nx = {n}\ntime.sleep(0.1)",
            "q1_a = x * 2\nprint('n' * x)",
            f"q2_b = [get_ipython().kernel.session.key.decode(), {n}]",
            asks="q1_a q2_b",
            sandbox=sandbox,
        )
        assert evidence.cells[1].output == "n" * n + "\n"
        return value(evidence, "q1_a"), value(evidence, "q2_b")[0]

    with ThreadPoolExecutor(4) as executor:
        done = list(executor.map(one, range(8)))
    assert [answer for answer, _ in done] == [str(2 * n) for n in range(8)]
    assert len({key for _, key in done}) == 8


@pytest.mark.slow
def test_a_class_with_all_sorts_of_endings_leaves_nothing(
    short: Path, own_nursery: KernelPool
) -> None:
    endings = (
        "pass",
        "import os\nos._exit(1)",
        "import ctypes\nctypes.string_at(0)",
        "while True: pass",
        "import os\nos.kill(os.getpid(), 19)",
        "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()",
        "print('x' * 10_000_000)",
    )
    marks = [Mark() for _ in range(32)]

    def one(n: int) -> Outcome:
        limits = Limits(cell_seconds=1, notebook_seconds=20)
        first = f"{marks[n].on_this_process}\nq1_a = {n}"
        evidence = run(first, endings[n % len(endings)], asks="q1_a", limits=limits)
        assert value(evidence, "q1_a") == str(n)
        return evidence.outcome

    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(4) as executor:
        assert Outcome.REFUSED not in set(executor.map(one, range(32)))
    own_nursery.close()
    assert not [mark for mark in marks if mark.processes()]
    assert list(short.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 10


@pytest.mark.thorough
@BOTH
@pytest.mark.parametrize("imports", ["", "import torch\n"], ids=["plain", "torch"])
def test_files_that_a_kernel_makes_for_a_while_are_in_its_own_folder(
    imports: str, sandbox: str
) -> None:
    if imports:
        pytest.importorskip("torch")
    source = f"{imports}import os, tempfile\nq1_a = tempfile.gettempdir() == os.environ['TMPDIR']"
    made = "with tempfile.NamedTemporaryFile() as file: q2_b = os.path.exists(file.name)"
    evidence = run(source, made, asks="q1_a q2_b", sandbox=sandbox)
    assert (value(evidence, "q1_a"), value(evidence, "q2_b")) == (True, True)
