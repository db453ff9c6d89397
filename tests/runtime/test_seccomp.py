"""The system-call filter: what it refuses is really tried, and what notebooks need really runs."""

from __future__ import annotations

import errno
import json
import os
import platform
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("system-call filters are of Linux", allow_module_level=True)

from grader.runtime.sandbox import seccomp_filter as filters

seccomp = pytest.importorskip("pyseccomp", exc_type=Exception)  # type: ignore[arg-type]

ROOT = Path(__file__).parents[2]
SIGSYS = 31

ENTER = """
import sys
sys.path.insert(0, sys.argv[1])
from grader.runtime.worker.syscalls import load_filter
if __name__ == "__main__" and sys.argv[2] != "-":  # spawned children are under it already
    with open(sys.argv[2], "rb") as file:
        load_filter(file.read())
"""

ATTEMPTS = """
import ctypes, ctypes.util, json, os, signal
libc = ctypes.CDLL(None, use_errno=True)
with open(sys.argv[3]) as file:
    NUMBERS = json.load(file)
found = {}

def attempt(label, name, *arguments):
    if name in NUMBERS:
        ctypes.set_errno(0)
        whole = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
        result = libc.syscall(ctypes.c_long(NUMBERS[name]), *whole)
        if result == 0 and name in {"clone", "clone3"}:
            os._exit(0)  # the child
        found[label] = ctypes.get_errno() if result < 0 else 0

def alone(name, *arguments):
    attempt(name, name, *arguments)
"""

# Each argument list is one that does nothing or next to nothing where the kernel accepts it.
REFUSED = """
alone("ptrace", 9999, 0, 0, 0)
alone("process_vm_readv", os.getpid(), None, 0, None, 0, 0)
alone("process_vm_writev", os.getpid(), None, 0, None, 0, 0)
alone("process_madvise", -1, None, 0, 0, 0)
alone("kcmp", os.getpid(), os.getpid(), 0, 0, 0)
alone("pidfd_getfd", -1, 0, 0)
alone("mount", b"none", b"/nowhere", b"tmpfs", 0, None)
alone("umount2", b"/nowhere", 0)
alone("pivot_root", b"/nowhere", b"/nowhere")
alone("chroot", b"/nowhere")
alone("open_tree", -100, b"/nowhere", 0)
alone("move_mount", -1, b"", -1, b"", 0)
alone("fsopen", b"nothing", 0)
alone("fsconfig", -1, 0, None, None, 0)
alone("fsmount", -1, 0, 0)
alone("fspick", -100, b"/nowhere", 0)
alone("mount_setattr", -100, b"/nowhere", 0, None, 0)
alone("unshare", 0)
attempt("unshare a user namespace", "unshare", 0x10000000)
alone("setns", -1, 0)
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    attempt(f"clone {flag:x}", "clone", flag | signal.SIGCHLD, None, None, None, None)
attempt("clone, two namespaces", "clone", 0x10020000 | signal.SIGCHLD, None, None, None, None)
attempt("clone, a bit above", "clone", 1 << 32 | 0x10000000 | 17, None, None, None, None)
alone("add_key", b"user", b"mine", b"x", 1, -2)
alone("keyctl", 0, -3, 0)
alone("request_key", b"user", b"mine", None, 0)
alone("bpf", 0, None, 0)
alone("perf_event_open", None, 0, -1, -1, 0)
alone("userfaultfd", 1)
alone("io_uring_setup", 1, None)
alone("io_uring_enter", -1, 0, 0, 0, None)
alone("io_uring_register", -1, 0, None, 0)
alone("kexec_load", 0, 0, None, -1)
alone("kexec_file_load", -1, -1, 0, None, -1)
alone("init_module", None, 0, b"")
alone("finit_module", -1, b"", 0)
alone("delete_module", b"nothing", 0o4000)
alone("reboot", 0, 0, 0, None)
alone("swapon", b"/nowhere", 0)
alone("swapoff", b"/nowhere")
alone("syslog", 10, None, 0)
alone("clock_settime", 1, None)
alone("settimeofday", None, None)
alone("adjtimex", None)
alone("clock_adjtime", 99, None)
alone("acct", b"/nowhere")
alone("quotactl", -1, b"/nowhere", 0, None)
alone("sethostname", b"x", -1)
alone("name_to_handle_at", -100, b"/nowhere", None, None, 0)
alone("open_by_handle_at", -100, None, 0)
alone("fanotify_init", 0, 0)
alone("fanotify_mark", -1, 0, 0, -1, None)
alone("memfd_secret", 0)
alone("shmget", 0x76543210, 4096, 0)
alone("shmat", -1, None, 0)
alone("msgget", 0x76543210, 0)
alone("semget", 0x76543210, 1, 0)
alone("setxattr", b"/nowhere", b"user.x", b"x", 1, 0)
alone("iopl", 99)
alone("ioperm", 0, 0, 0)
alone("seccomp", 2, 0, ctypes.byref(ctypes.c_uint32(0x7fff0000)))
for family in (0, 2, 10, 3, 17, 38, 40, 44, 45, 63, 64, 1000, -1, 1 << 32 | 2):
    attempt(f"socket {family}", "socket", family, 1, 0)
attempt("socket datagram", "socket", 2, 2, 0)
attempt("socketpair of the internet", "socketpair", 2, 1, 0, (ctypes.c_int * 2)())
attempt("ioctl TIOCSTI", "ioctl", 0, 0x5412, b"x")
attempt("ioctl TIOCSTI, a bit above", "ioctl", 0, 1 << 32 | 0x5412, b"x")
attempt("ioctl TIOCLINUX", "ioctl", 0, 0x541C, b"x")
attempt("mmap shared without a file", "mmap", 0, 4096, 3, 0x21, -1, 0)
attempt("mmap shared, validated, without a file", "mmap", 0, 4096, 3, 0x23, -1, 0)
attempt("prlimit64 of another", "prlimit64", os.getppid(), 7, None, None)
attempt("setpriority of another", "setpriority", 0, os.getppid(), 0)
attempt("setpriority of all", "setpriority", 2, 0, 0)
attempt("mknod of a device", "mknodat", -100, b"/nowhere/x", 0o020600, 0x103)
"""

ABSENT = """
alone("clone3", None, 0)
alone("memfd_create", b"x", 0)
attempt("personality", "personality", 0x40000)
attempt("prctl, a filter", "prctl", 22, 2, 0, 0, 0)
attempt("prctl, memory map", "prctl", 35, 1, 0, 0, 0)
attempt("ioctl of a driver", "ioctl", 0, 0x30000001, 0)
alone("splice", -1, None, -1, None, 0, 0)
alone("modify_ldt", 0, None, 0)
alone("mq_open", b"x", 2, 0, None)
alone("io_setup", 1, None)
NUMBERS["newer than this kernel"] = 1000
alone("newer than this kernel")
"""

FREE = """
attempt("personality, asked for", "personality", 0xFFFFFFFF)
attempt("clone", "clone", signal.SIGCHLD, None, None, None, None)
attempt("setpriority", "setpriority", 0, 0, 19)
attempt("sched_setscheduler", "sched_setscheduler", os.getpid(), 0, b"\\0" * 4)
attempt("prlimit64", "prlimit64", 0, 7, None, ctypes.create_string_buffer(16))
attempt("mknod of a pipe", "mknodat", -100, os.path.join(sys.argv[4], "pipe").encode(), 0o010600, 0)
attempt("socket", "socket", 1, 1, 0)
attempt("prctl", "prctl", 15, b"name", 0, 0, 0)
attempt("ioctl", "ioctl", os.open("/dev/null", 0), 0x5451, 0)
"""


@cache
def program(network: bool = False, device: str = "cpu") -> bytes:
    return filters.compile_rules(filters.filter_rules(network=network, device=device))


def numbers() -> str:
    names = {
        *filters.ALLOWED,
        *filters.REFUSED,
        "clone",
        "clone3",
        "memfd_create",
        "socket",
    }
    names |= {"socketpair", "ioctl", "mmap", "prlimit64", "setpriority", "sched_setscheduler"}
    names |= {"mknodat", "personality", "prctl", "splice", "modify_ldt", "mq_open", "io_setup"}
    found = {name: seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) for name in names}
    return json.dumps({name: number for name, number in found.items() if number >= 0})


def start(folder: Path, code: str, *arguments: str, using: bytes | None) -> list[str]:
    """The command of a child that enters the filter and runs *code*; a file, for spawned ones."""
    rules, script = folder / "filter", folder / "child.py"
    if using is not None:
        rules.write_bytes(using)
    script.write_text(ENTER + textwrap.dedent(code), encoding="utf-8")
    named = "-" if using is None else str(rules)
    return [sys.executable, str(script), str(ROOT), named, *arguments]


def run(
    folder: Path, code: str, *arguments: str, using: bytes | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        start(folder, code, *arguments, using=using),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "HOME": str(folder)},
    )


def attempts(folder: Path, code: str, using: bytes | None) -> dict[str, str]:
    """The name of the error that each attempt ended with, or "done"."""
    text = ATTEMPTS + code + "print(json.dumps(found))"
    known = folder / "numbers.json"
    known.write_text(numbers())
    ended = run(folder, text, str(known), str(folder), using=using)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    return {label: errno.errorcode[code] if code else "done" for label, code in found.items()}


@pytest.fixture(scope="module")
def attempted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], dict[str, str]]:
    @cache
    def answers(code: str, device: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("attempts")
        return attempts(folder, code, program(network=False, device=device))

    return answers


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_a_notebook_has_no_use_for_is_refused(
    attempted: Callable[[str, str], dict[str, str]], device: str
) -> None:
    found = attempted(REFUSED, device)
    assert len(found) > 80
    wrong = {label: how for label, how in found.items() if how not in ("EPERM", "ENOSYS")}
    # The CUDA driver shares memory without a file.
    drivers = {label for label in wrong if label.startswith("mmap shared")}
    assert wrong.keys() - (drivers if device == "cuda" else set()) == set(), wrong


def test_what_may_be_missing_looks_missing(
    attempted: Callable[[str, str], dict[str, str]],
) -> None:
    found = attempted(ABSENT, "cpu")
    assert {how for label, how in found.items()} == {"ENOSYS"}, found


def test_cuda_may_do_what_its_driver_does(
    attempted: Callable[[str, str], dict[str, str]],
) -> None:
    found = attempted(ABSENT, "cuda")
    assert found["memfd_create"] == "done"
    assert found["ioctl of a driver"] != "ENOSYS"
    assert found["clone3"] == found["personality"] == "ENOSYS"


def test_the_attempts_do_something_where_nothing_refuses_them(tmp_path: Path) -> None:
    # Otherwise the tests above would hold for a filter that refuses nothing. The first attempts
    # are ones that every user may make on every kernel.
    found = attempts(tmp_path, ABSENT + REFUSED, None)
    for label in ("mmap shared without a file", "memfd_create", "unshare", "seccomp"):
        assert found[label] == "done"
    for label in ("ptrace", "pidfd_getfd", "setns", "clone3", "fsconfig", "ioctl TIOCSTI", "shmat"):
        assert found[label] not in {"ENOSYS", "EPERM", "done"}
    assert found["socket 2"] == found["prlimit64 of another"] == "done"


def test_the_same_calls_are_free_with_other_arguments(tmp_path: Path) -> None:
    found = attempts(tmp_path, FREE, program())
    assert len(found) == 9
    assert set(found.values()) == {"done"}, found


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of this processor alone")
@pytest.mark.parametrize(
    "code",
    [
        "b814000000cd80c3",  # mov eax, 20; int 0x80; ret: getpid by its 32-bit number
        "b8270000400f05c3",  # mov eax, 0x40000027; syscall; ret: getpid by its x32 number
    ],
    ids=["32-bit", "x32"],
)
def test_a_way_around_the_numbers_ends_the_process(tmp_path: Path, code: str) -> None:
    ended = run(
        tmp_path,
        f"""
        import ctypes, mmap
        memory = mmap.mmap(-1, 4096, flags=0x22, prot=7)
        memory.write(bytes.fromhex("{code}"))
        at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        print(ctypes.CFUNCTYPE(ctypes.c_int)(at)(), flush=True)
        """,
        using=program(),
    )
    # A kernel without 32-bit calls ends it too, by SIGSEGV.
    assert -ended.returncode in {SIGSYS, 11}
    assert ended.stdout == ""


def test_internet_sockets_only_when_asked_for(tmp_path: Path) -> None:
    code = """
    import socket
    def opened(*kind):
        try:
            return socket.socket(*kind).close() or "open"
        except OSError as error:
            return type(error).__name__
    kinds = [(2, 1), (2, 2), (10, 1), (10, 2, 17), (2, 1, 6), (2, 3, 1), (2, 2, 1), (2, 1, 262),
             (16, 3, 12), (17, 3), (40, 1)]
    print(*(opened(*kind) for kind in kinds))
    with socket.socketpair()[0] as one:
        print(one.family)
    """
    without = run(tmp_path, code, using=program()).stdout.split()
    assert set(without[:11]) <= {"PermissionError", "OSError"}
    with_network = run(tmp_path, code, using=program(network=True)).stdout.split()
    assert with_network[:5] == ["open"] * 5
    assert "open" not in with_network[5:11]
    assert without[11] == with_network[11] == "1"


KEPT = {
    "threads": """
        import threading, concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(lambda n: n * n, range(100))))
        """,
    "subprocess": """
        import subprocess
        print(subprocess.run(["sh", "-c", "echo $((2 + 3)) | cat"], capture_output=True).stdout)
        assert subprocess.run("exit 3", shell=True).returncode == 3
        """,
    "multiprocessing": """
        import multiprocessing, os
        from multiprocessing import shared_memory
        if __name__ == "__main__":
            for method in ("fork", "spawn", "forkserver"):
                context = multiprocessing.get_context(method)
                with context.Pool(2) as pool:
                    assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]
                queue = context.Queue()
                child = context.Process(target=queue.put, args=("hello",))
                child.start()
                assert queue.get(timeout=20) == "hello"
                child.join()
            counter = multiprocessing.Value("i", 5)
            block = shared_memory.SharedMemory(create=True, size=4096)
            block.buf[:5] = b"bytes"
            again = shared_memory.SharedMemory(block.name)
            print(bytes(again.buf[:5]), counter.value)
            again.close(), block.close(), block.unlink()
        """,
    "asyncio": """
        import asyncio
        async def main():
            child = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)
            said, _ = await child.communicate()
            server = await asyncio.start_unix_server(lambda r, w: w.write(b"x") or w.close(), "s")
            reader, writer = await asyncio.open_unix_connection("s")
            return said, await reader.read(), await asyncio.to_thread(len, "abc")
        print(asyncio.run(main()))
        """,
    "files": """
        import mmap, os, pathlib, shutil, sqlite3, tempfile, time, signal
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "a").write_text("x" * 100000)
            shutil.copytree(folder, place / "b", symlinks=True)
            shutil.copy2(place / "a", place / "c")
            os.mkfifo(place / "pipe")
            os.link(place / "a", place / "d")
            with open(place / "a", "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
                shared[:2] = b"yy"
            base = sqlite3.connect(place / "base.sqlite")
            base.execute("pragma journal_mode = wal")
            base.execute("create table t (a)")
            base.execute("insert into t values (1)")
            base.commit()
            base.close()
            print(sorted(os.listdir(place)))
        signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.05)
        """,
    "terminal": """
        import pty, os, resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(1), os.sched_setaffinity(0, os.sched_getaffinity(0))
        print(pty.spawn(["sh", "-c", "stty -a | head -1; test -t 1"]))
        """,
    "numpy": """
        import numpy as np, random, uuid, os, platform
        from concurrent.futures import ProcessPoolExecutor
        square = np.random.default_rng(0).normal(size=(300, 300))
        print(np.linalg.svd(square)[1][:2], np.fft.fft(square)[0, 0], uuid.uuid4(), os.cpu_count())
        part = np.memmap("map.bin", dtype="f4", mode="w+", shape=(1000,))
        part[:] = 1; part.flush()
        with ProcessPoolExecutor(2) as pool:
            print(list(pool.map(np.sum, [square, square])))
        """,
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "device"), [*((name, "cpu") for name in KEPT), ("files", "cuda")], ids=str
)
def test_what_notebooks_do_still_runs(tmp_path: Path, name: str, device: str) -> None:
    ended = run(tmp_path, KEPT[name], using=program(device=device))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    assert "rror" not in ended.stderr


KERNEL = """
import runpy
sys.argv = ["ipykernel_launcher", *sys.argv[3:]]
runpy.run_module("ipykernel_launcher", run_name="__main__")
"""


@pytest.mark.thorough
def test_a_notebook_still_runs_in_its_kernel(tmp_path: Path) -> None:
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    command = start(tmp_path, KERNEL, "-f", "{connection_file}", using=program())
    manager = AsyncKernelManager(transport="ipc", ip=str(tmp_path / "kernel"))
    manager._kernel_spec = KernelSpec(argv=command)
    cells = (
        "import os, numpy as np; np.arange(4).sum()",
        "!echo from a shell",
        "%timeit -n 1 -r 1 sum(range(10))",
        "import mmap\ntry: mmap.mmap(-1, 4096)\nexcept OSError as error: print(error)",
        "import socket\ntry: socket.socket()\nexcept OSError as error: print(error)",
        "help(len)",
    )
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, km=manager, timeout=60).execute()
    said = [
        "".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)
        for cell in notebook.cells
    ]
    assert said[0].endswith("6)") or said[0] == "6"
    assert said[1].strip() == "from a shell"
    assert "1 run" in said[2]
    assert "not permitted" in said[3]
    assert "not permitted" in said[4]
    assert "Return the number of items" in said[5]


@pytest.mark.slow
@pytest.mark.parametrize("network", [False, True])
def test_torch_still_runs(tmp_path: Path, network: bool) -> None:
    pytest.importorskip("torch")
    ended = run(
        tmp_path,
        """
        import os
        import torch, torch.multiprocessing as mp
        from torch.utils.data import DataLoader, TensorDataset
        torch.set_num_threads(2)

        def double(shared):
            shared.mul_(2)

        def ring(rank, folder):
            import torch.distributed as dist
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
            dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank,
                                    world_size=2)
            mine = torch.ones(4) * (rank + 1)
            dist.all_reduce(mine)
            assert mine.tolist() == [3.0] * 4
            dist.destroy_process_group()

        if __name__ == "__main__":
            model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
            model(torch.randn(256, 64)).sum().backward()
            torch.nn.functional.conv2d(torch.randn(4, 3, 32, 32), torch.randn(8, 3, 3, 3))
            rows = TensorDataset(torch.arange(64.0))
            loader = DataLoader(rows, batch_size=8, num_workers=2)
            print("loaded", sum(batch[0].sum().item() for batch in loader))
            shared = torch.ones(1000).share_memory_()
            children = [mp.get_context("fork").Process(target=double, args=(shared,))]
            [child.start() for child in children], [child.join() for child in children]
            print("shared", shared.sum().item())
            torch.save(model.state_dict(), "model.pt")
            torch.load("model.pt", weights_only=True)
            if "network" in sys.argv:
                mp.spawn(ring, args=(os.getcwd(),), nprocs=2)
                print("reduced")
        """,
        "network" if network else "alone",
        using=program(network=network),
    )
    assert ended.returncode == 0, ended.stderr
    reduced = ["reduced"] if network else []
    assert ended.stdout.split() == ["loaded", "2016.0", "shared", "2000.0", *reduced]


def test_programs_of_after_are_under_it(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        """
        import ctypes, subprocess
        libc = ctypes.CDLL(None, use_errno=True)
        def unshare():
            return libc.unshare(0), ctypes.get_errno()
        before = unshare()
        with open(sys.argv[3], "rb") as file:
            load_filter(file.read())
        said = before, unshare()
        program = "import ctypes; print(ctypes.CDLL(None).unshare(0))"
        print(*said, subprocess.run([sys.executable, "-c", program], capture_output=True).stdout)
        """,
        str(saved(tmp_path)),
        using=None,
    )
    assert ended.stdout == "(0, 0) (-1, 1) b'-1\\n'\n", ended.stderr


def saved(folder: Path) -> Path:
    path = folder / "later"
    path.write_bytes(program())
    return path


@pytest.mark.parametrize("junk", [b"", b"1234567", b"\xff" * 8, b"\0" * 8 * 5000])
def test_what_is_no_filter_is_not_loaded(tmp_path: Path, junk: bytes) -> None:
    ended = run(
        tmp_path,
        """
        try:
            load_filter(bytes.fromhex(sys.argv[3]) or bytes(int(sys.argv[4])))
        except OSError as error:
            print(error.strerror)
        """,
        *("" if len(junk) > 8 else junk.hex(), str(len(junk))),
        using=None,
    )
    assert "Invalid argument" in ended.stdout or "not a system-call filter" in ended.stdout


@pytest.mark.parametrize(
    "lost",
    ["sys.modules['pyseccomp'] = None",
     "import ctypes.util; ctypes.util.find_library = lambda name: None"],
    ids=["package", "library"],
)  # fmt: skip
def test_without_the_library_there_is_no_filter(tmp_path: Path, lost: str) -> None:
    ended = run(
        tmp_path,
        f"""
        {lost}
        from grader.runtime.sandbox import linux
        print(linux._compile_filter("cpu"))
        """,
        using=None,
    )
    assert ended.stdout == "None\n"


def decided(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What a filter answers to a call: the kernel's machine for it, in so far as it is used."""
    whole = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *whole)
    at = value = 0
    while True:
        operation, yes, no, constant = struct.unpack_from("<HBBI", code, at * 8)
        at += 1
        match operation:
            case 0x20:  # load a word
                value = struct.unpack_from("<I", data, constant)[0]
            case 0x54:  # and
                value &= constant
            case 0x05:  # jump
                at += constant
            case 0x15:
                at += yes if value == constant else no
            case 0x25:
                at += yes if value > constant else no
            case 0x35:
                at += yes if value >= constant else no
            case 0x06:  # return
                return constant
            case _:
                raise AssertionError(f"operation {operation:x}")


def test_the_program_decides_by_the_rules() -> None:
    token = seccomp.system_arch()
    code = filters.compile_rules(filters.filter_rules())
    refuse, absent = seccomp.ERRNO(errno.EPERM), seccomp.ERRNO(errno.ENOSYS)

    def answer(name: str, *arguments: int) -> int | None:
        number = seccomp.resolve_syscall(token, name)
        return decided(code, token, number, *arguments) if number >= 0 else None

    assert {answer(name) for name in filters.ALLOWED} <= {seccomp.ALLOW, None}
    assert {answer(name) for name in filters.REFUSED} <= {refuse, None}
    assert sum(answer(name) == seccomp.ALLOW for name in filters.ALLOWED) > 190
    assert sum(answer(name) == refuse for name in filters.REFUSED) > 60
    assert {answer(name) for name in ("clone3", "memfd_create")} == {absent}
    assert answer("clone", 17) == seccomp.ALLOW
    assert answer("clone", 0x10000011) == absent
    assert answer("socket", 1, 1) == seccomp.ALLOW
    assert answer("socket", 2, 1) == refuse
    assert answer("mmap", 0, 4096, 3, 0x22) == seccomp.ALLOW
    assert answer("mmap", 0, 4096, 3, 0x21) == refuse
    assert answer("ioctl", 0, 0x5401) == seccomp.ALLOW
    assert answer("ioctl", 0, 0x5412) == absent
    assert decided(code, token ^ 1, 0) == seccomp.KILL_PROCESS
    assert decided(code, token, 2**31) in {absent, seccomp.KILL_PROCESS}
