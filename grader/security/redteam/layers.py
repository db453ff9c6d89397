"""Tests each sandbox layer with a real notebook that tries to break through it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.model import Evidence, Job, Limits, Outcome, Submission
from grader.notebook import Cell, write
from grader.runtime.execute import execute
from grader.runtime.sandbox import SandboxChoice
from grader.runtime.sandbox.base import Layer
from grader.security.redteam.files import attacks_folder, read_cells

_LIMITS = Limits(cell_seconds=20, notebook_seconds=60, scratch_bytes=20_000_000)
_SECRET = "GRADER_DOCTOR_SECRET"  # noqa: S105  # a name


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTest:
    """The result of an attempt to break through one layer."""

    layer: Layer
    has_held: bool | None
    """None if it could not be tested."""
    got: str
    """What the notebook achieved, or why it could not try."""


def attack_layers(chosen: SandboxChoice) -> tuple[LayerTest, ...]:
    """Attacks every layer of the sandbox, present or not, with one notebook."""
    layers = chosen.sandbox.layers()
    attempts = read_cells(attacks_folder() / "layers.py")
    with _open_targets() as targets:
        evidence = _run_attempts(chosen, targets, attempts)
    outcomes = (_judge_layer(layer.name, evidence, list(attempts)) for layer in layers)
    return tuple(
        LayerTest(layer=layer, has_held=held, got=got)
        for layer, (held, got) in zip(layers, outcomes, strict=True)
    )


def _judge_layer(layer: str, evidence: Evidence, attempted: list[str]) -> tuple[bool | None, str]:
    """Returns whether *layer* has held, or None if that is unknown, and what was achieved."""
    if layer not in attempted:
        return None, "it can only be seen in use"
    if evidence.outcome is Outcome.REFUSED:
        return None, evidence.note or "no kernel"
    run = evidence.cells[1 + attempted.index(layer)]
    if layer == "scratch" and "more files" in (run.error or ""):
        return True, "ended by the supervisor"
    got = run.output.partition("GOT:")[2].strip()
    if run.has_failed or not got:
        return None, run.error or "it printed nothing"
    return got == "nothing", got


@contextlib.contextmanager
def _open_targets() -> Iterator[Mapping[str, object]]:
    """Opens resources of the grader that a notebook must not reach, and yields where they are."""
    import socket

    abstract = f"grader-doctor-{os.getpid()}"
    os.environ[_SECRET] = "seen"
    try:
        with (
            tempfile.TemporaryDirectory(prefix="doctor-") as folder,
            socket.socket(socket.AF_INET) as inet,
        ):
            secret_file = Path(folder, "secret")
            secret_file.write_text("seen", encoding="utf-8")
            inet.bind(("127.0.0.1", 0))
            inet.listen()
            targets: dict[str, object] = {
                "SEEN": str(secret_file),
                "GRADER": os.getpid(),
                "PORT": inet.getsockname()[1],
                "ABSTRACT": abstract,
                "HOST": os.uname().nodename if hasattr(os, "uname") else "",
                "IPC": _ipc_namespace(),
            }
            with socket.socket(getattr(socket, "AF_UNIX", socket.AF_INET)) as unix:
                with contextlib.suppress(OSError, TypeError):
                    unix.bind("\0" + abstract)
                    unix.listen()
                yield targets
    finally:
        os.environ.pop(_SECRET, None)


def _ipc_namespace() -> str:
    path = Path("/proc/self/ns/ipc")
    return str(path.readlink()) if path.is_symlink() else ""


def _run_attempts(
    chosen: SandboxChoice, targets: Mapping[str, object], attempts: Mapping[str, str]
) -> Evidence:
    """Executes a notebook with a cell for each of *attempts*; *targets* are variables in it."""
    setup = "import os, socket, time\n" + "\n".join(f"{k} = {v!r}" for k, v in targets.items())
    print_result = "\nprint('GOT:', '; '.join(map(str, got)) or 'nothing')"
    sources = [setup, *(source + print_result for source in attempts.values())]
    return run_cells(sources, sandbox=chosen.mode, limits=_LIMITS)


def run_cells(
    sources: Iterable[str], *, sandbox: str, limits: Limits, names: tuple[str, ...] = ()
) -> Evidence:
    """Executes a notebook with a cell for each of *sources*, and asks for the values of *names*."""
    data = write([Cell(type="code", id=f"c{i}", source=s) for i, s in enumerate(sources)], {})
    submission = Submission(
        student="doctor", path="doctor.ipynb", sha256=hashlib.sha256(data).hexdigest()
    )
    return execute(Job(submission=submission, names=names, limits=limits, sandbox=sandbox), data)
