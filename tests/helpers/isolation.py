"""Notebooks that try to get out of their sandbox, and the layers that hold them."""

from __future__ import annotations

from typing import Any

import pytest

from grader.model import Limits
from grader.runtime.sandbox import sandboxes
from tests.helpers.notebooks import run

SMALL = Limits(
    cell_seconds=20,
    notebook_seconds=60,
    scratch_bytes=10_000_000,
    processes=64,
    memory_bytes=600_000_000,
)


LAYERS = {layer.name: layer for layer in sandboxes.find("wall").layers()}


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips a test where a layer is missing, with the reason."""
    missing = [LAYERS[name] for name in names if not LAYERS[name].present]
    reason = "; ".join(f"{layer.name}: {layer.detail}" for layer in missing)
    return pytest.mark.skipif(bool(missing), reason=reason)


def plain(raw: Any) -> Any:
    """A raw answer as plain Python, as far as lists of texts and numbers go."""
    assert raw is not None
    return [plain(item) for item in raw["v"]] if raw["t"] == "list" else raw.get("v")


TRY = """\
import contextlib, ctypes, errno, os, pathlib, signal, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
got = []
@contextlib.contextmanager
def attempt(what):
    try:
        yield
        got.append(what)
    except (OSError, ValueError, TimeoutError, ModuleNotFoundError):
        pass
def call(name, *arguments):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result
"""


def what_got_through(source: str, sandbox: str = "auto", limits: Limits = SMALL) -> list[str]:
    """What *source* says in `got` that it managed."""
    evidence = run(TRY, source, asks="got", sandbox=sandbox, limits=limits)
    assert [cell.error for cell in evidence.cells] == [None, None], evidence.cells
    return plain(evidence.answers["got"].raw)


NAMESPACES = ("namespaces",)


def present() -> set[str]:
    return {layer.name for layer in sandboxes.find("wall").layers() if layer.present}


ORDINARY = """\
import os, sys
from grader.runtime.worker import syscalls as linux
uid = 1000
linux.unshare(linux.CLONE_NEWUSER)
for path, text in (("setgroups", "deny"), ("uid_map", f"{uid} 0 1"), ("gid_map", f"{uid} 0 1")):
    with open("/proc/self/" + path, "w") as file: file.write(text)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
