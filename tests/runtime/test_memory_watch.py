"""The memory watch: real processes that use memory, share it and try to hide it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("it reads the /proc of Linux", allow_module_level=True)

from grader.runtime.worker import memory
from tests.helpers.kernels import WAIT, Started

MB = 2**20
ROOT = Path(__file__).parents[2]


def test_what_a_process_uses_is_seen(started: Started) -> None:
    small, large = started("").pid, started("kept = b'x' * (100 << 20)").pid
    before, after = memory.used_bytes([small]), memory.used_bytes([large])
    assert 99 * MB < after - before < 110 * MB
    assert memory.used_bytes([small, large]) == before + after
    assert memory.exceeds_limit(60 * MB, [small, large])
    assert not memory.exceeds_limit(200 * MB, [small, large])


def test_what_processes_share_counts_once(started: Started) -> None:
    parent = started(
        """
        kept = b'x' * (100 << 20)
        for _ in range(3):
            if not os.fork():
                sys.stdin.read()
                os._exit(0)
        """
    ).pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    pids = [parent, *map(int, children)]
    assert len(pids) == 4
    assert memory.used_bytes(pids) > 400 * MB
    assert 100 * MB < memory.used_bytes(pids, exact=True) < 150 * MB
    assert not memory.exceeds_limit(200 * MB, pids)
    assert memory.exceeds_limit(90 * MB, pids)


def test_page_tables_count(started: Started) -> None:
    # One page is read out of every 2 MB, and it is the same page of zeros every time: 4 kB of
    # tables each, and nothing else.
    reader = started(
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        size = 64 << 30
        at = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))
        for offset in range(0, size, 2 << 20):
            ctypes.string_at(at + offset, 1)
        """
    ).pid
    assert memory.used_bytes([reader]) > 128 * MB
    assert memory.used_bytes([reader], exact=True) > 128 * MB


def test_a_process_without_its_first_thread_still_counts(started: Started) -> None:
    hidden = started(
        """
        import ctypes, threading
        def hold():
            kept = b'x' * (100 << 20)
            while open(f"/proc/{os.getpid()}/stat").read().split()[2] != "Z":
                time.sleep(0.01)
            print("ready", flush=True)
            sys.stdin.read()  # the first thread never gets there
        threading.Thread(target=hold).start()
        number = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
        ctypes.CDLL(None).syscall(number, 0)  # ends this thread alone
        """
    ).pid
    assert "VmRSS" not in Path(f"/proc/{hidden}/status").read_text()
    assert memory.used_bytes([hidden]) > 100 * MB
    assert memory.used_bytes([hidden], exact=True) > 100 * MB


def test_a_process_that_can_not_be_looked_into_counts_in_full(started: Started) -> None:
    closed = started(
        "import ctypes; ctypes.CDLL(None).prctl(4, 0); kept = b'x' * (100 << 20)" + WAIT
    ).pid
    assert memory.used_bytes([closed], exact=True) > 100 * MB


def test_what_has_ended_uses_nothing(started: Started) -> None:
    child = started("")
    child.kill()
    while "Z (zombie)" not in Path(f"/proc/{child.pid}/status").read_text():
        pass
    assert memory.used_bytes([child.pid]) == 0
    child.wait()
    assert memory.used_bytes([child.pid, 2**22 + 1]) == 0


def namespaces(*names: str) -> list[str]:
    """A command before another one, that gives it namespaces of its own."""
    found = ["unshare", *(f"--{name}" for name in names)]
    if os.getuid():
        found += ["--user", "--map-root-user"]
    if subprocess.run([*found, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces here")
    return found


def printed(command: list[str], folder: Path, code: str) -> list[str]:
    script = folder / "script.py"
    start = f"""
        import os, subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from grader.runtime.worker import memory
        """
    script.write_text(textwrap.dedent(start) + textwrap.dedent(code))
    ended = subprocess.run(
        [*command, sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


def test_files_in_memory_count_once(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    empty, full, twice, mapped = printed(
        namespaces("mount"),
        tmp_path,
        """
        import mmap
        subprocess.run(["mount", "-t", "tmpfs", "scratch", "place"], check=True)
        def used(exact=True):
            pids = [os.getpid()]
            return memory.used_bytes(pids, ["place"], exact=exact) >> 20
        print(used())
        with open("place/file", "wb") as file:
            file.write(b"x" * (100 << 20))
        print(used(), used(exact=False))
        with open("place/file", "rb") as file:
            kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            sum(kept[::4096])
            print(used())
        """,
    )
    assert int(full) - int(empty) in range(88, 113)
    assert int(mapped) - int(empty) in range(88, 113)
    assert int(twice) - int(empty) in range(88, 113)
