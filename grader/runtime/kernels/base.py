"""The interface between execution and kernels, whether started cold or forked."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from grader.model import Limits, Outcome, Raw
from grader.model.records import field_values
from grader.registry import Registry
from grader.runtime.sandbox import Sandbox, ScratchFolder

log = logging.getLogger("grader.runtime.execute")


class NotStartedError(Exception):
    """No kernel could be started, which is never the student's fault."""


class LostError(NotStartedError):
    """The kernel was killed from outside, for example because the machine ran out of memory."""


class StoppedError(Exception):
    """The caller asked to stop, as on Ctrl-C; the kernel has ended and nothing was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """What a fork server must know, and its kernels have in common."""

    sandbox: Sandbox
    device: str = "cpu"
    """`cpu` hides the machine's GPUs; `cuda` shows them."""
    loopback: bool = False
    """Whether the kernel has a loopback network, which reaches only the kernel itself."""
    seed: int = 0
    """Seed for random, numpy, and torch."""
    imports: tuple[str, ...] = ()
    """Modules to import before the kernel starts."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that the set defines."""

    def environment(self, place: ScratchFolder) -> dict[str, str]:
        """Returns the complete environment of a kernel with the folder *place*."""
        variables = {**self.sandbox.environment(place), **dict(self.variables)}
        return variables | ({"CUDA_VISIBLE_DEVICES": ""} if self.device == "cpu" else {})

    def can_serve(self, other: LaunchSpec) -> bool:
        """Returns whether a fork server with this spec can fork kernels for the *other* one."""
        more_imports = set(other.imports) <= set(self.imports)
        return more_imports and replace(self, imports=other.imports) == other


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions(LaunchSpec):
    """The configuration of a kernel."""

    limits: Limits
    more_follow: bool = False
    """Whether more notebooks follow, so that it pays to prepare their start."""
    stop: Callable[[], bool] = bool
    """Polled twenty times a second; if it returns True, what runs ends with StoppedError."""

    @property
    def launch_spec(self) -> LaunchSpec:
        """The options that a fork server needs."""
        return LaunchSpec(**field_values(self, LaunchSpec))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What a request to a kernel did to the kernel."""

    alive: bool = True
    """Whether the kernel is still alive; if not, only `restart` and `close` can be called."""
    wait_seconds: float = 0.0
    """The part of the time in which other work kept the kernel from running."""
    disturbance: str = ""
    """How the machine interfered, such as by running out of memory; empty if it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult(StepResult):
    """The result of running one piece of code."""

    outcome: Outcome
    seconds: float
    error: str | None = None
    """The exception, such as "NameError: ..."; if the kernel died, what the cell did."""
    line: int | None = None
    output: str = ""
    visible_outputs: tuple[tuple[str, ...], ...] = ()
    """The outputs that nbgrader's rule looks at, in order: `("error",)`, `("stderr",)` and
    `("result", text)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskReply(StepResult):
    """A kernel's reply about names; its form is checked, its truth is not."""

    values: Mapping[str, Raw] = field(default_factory=dict)
    """A name that is not here was not defined."""
    garbled_names: frozenset[str] = frozenset()
    """Names whose value did not have the form that the probe produces."""
    late: bool = False
    """Whether no reply came in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult(StepResult):
    """The result of one call of a student's function."""

    reply: str | None
    """The kernel's reply, unchecked; None if there was none."""
    seconds: float
    """From the request to the reply, by the grader's clock."""
    late: bool = False
    """Whether it was interrupted or killed because it reached its time limit."""
    error: str | None = None
    """How the call ended the kernel; None if the kernel is alive."""
    outcome: Outcome = Outcome.FINISHED


class Session(Protocol):
    """One kernel in its sandbox, and its successors. Use it in one thread; close it at the end."""

    def run(self, source: str, *, seconds: float, keep: int) -> CellResult:
        """Runs one cell; after *seconds*, interrupts it, and kills the kernel if that fails.

        All limits are extended by the time for which other work on the machine keeps the kernel
        from running; see `FairClock`. At most *keep* bytes of output are kept. Raises
        NotStartedError if the kernel was lost through no fault of the notebook.
        """

    def ask(self, names: tuple[str, ...], *, seconds: float) -> AskReply:
        """Returns the values of *names*, read without leaving a trace in the notebook."""

    def call(self, request: str, *, seconds: float) -> CallResult:
        """Returns the reply of `wire.calls.answer_request` to *request*, within *seconds*."""

    def restart(self) -> None:
        """Replaces the kernel with a new one in a new folder. Raises NotStartedError."""

    def close(self) -> None:
        """Ends the kernel with all its processes, and removes its folder."""

    @property
    def about(self) -> Mapping[str, object]:
        """Interpreter, platform, and packages, as reported before any student's code ran."""


Start = Callable[[KernelOptions], Session]
"""Starts a kernel, or raises NotStartedError."""

kernels: Registry[Start] = Registry("kernel", "grader.kernels")


@contextlib.contextmanager
def open_session(start: Start, options: KernelOptions) -> Iterator[Session]:
    """Yields a session and closes it after the block; a failed start is retried once.

    Raises NotStartedError if the second start fails too.
    """
    try:
        session = start(options)
    except NotStartedError:
        session = start(options)
    try:
        yield session
    finally:
        try:
            session.close()
        except Exception as error:  # noqa: BLE001  # a failed cleanup must not lose results
            log.warning("a kernel could not be closed: %s", error)
