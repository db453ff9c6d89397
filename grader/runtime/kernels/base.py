"""What execution asks of a kernel, whether it starts cold or is forked from a warm one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from grader.model import Limits, Outcome, Raw
from grader.registry import Registry
from grader.runtime.sandbox import Sandbox


class NotStartedError(Exception):
    """No kernel could be started: our fault, never the student's."""


class LostError(NotStartedError):
    """The kernel was ended from outside, such as by a machine that ran out of memory."""


class StoppedError(Exception):
    """The caller asked to stop, as on Ctrl-C; the kernel is gone and nothing was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a kernel is started with."""

    limits: Limits
    sandbox: Sandbox
    device: str = "cpu"
    """`cpu` hides the machine's GPUs; `cuda` shows them."""
    loopback: bool = False
    """A network that is there, and leads nowhere but to the kernel itself."""
    seed: int = 0
    """For random, numpy and torch."""
    imports: tuple[str, ...] = ()
    """Modules worth having imported before the kernel starts."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that the set asks for."""
    stop: Callable[[], bool] = bool
    """Asked twenty times a second; True ends whatever runs with StoppedError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How one piece of code went."""

    outcome: Outcome
    seconds: float
    alive: bool
    """Whether the kernel is still there; when it isn't, only `restart` and `close` are left."""
    error: str | None = None
    """What it raised, such as "NameError: ..."; or, when the kernel died, what the cell did."""
    line: int | None = None
    output: str = ""
    waited: float = 0.0
    """Seconds, of those that it took, for which other work kept the kernel from running."""
    disturbed: str = ""
    """What the machine did to it, such as that it was out of memory; empty for nothing."""
    shown: tuple[tuple[str, ...], ...] = ()
    """What it put out, in order, as far as a rule of nbgrader's asks: `("error",)`, `("stderr",)`
    and `("result", text)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a kernel said when asked for names; checked for its form, and true or not."""

    found: Mapping[str, Raw] = field(default_factory=dict)
    """A name that is not here was not defined."""
    garbled: frozenset[str] = frozenset()
    """Names whose answer had not the form that the probe gives."""
    alive: bool = True
    """False when the kernel died or had to be killed while it was asked."""
    late: bool = False
    """Whether no answer came in time."""
    disturbed: str = ""
    """As in `Ran`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What came of one call of a student's function."""

    said: str | None
    """What the kernel said, as it came: not checked at all. None when it said nothing."""
    seconds: float
    """From the request to the answer, by the clock on this side."""
    late: bool = False
    """Whether it was interrupted or ended because time was up."""
    alive: bool = True
    error: str | None = None
    """What the call did to the kernel, when that died of it."""
    outcome: Outcome = Outcome.FINISHED
    waited: float = 0.0
    disturbed: str = ""
    """Both as in `Ran`."""


class Session(Protocol):
    """One kernel in its sandbox, and its successors. Used by one thread; close it at the end."""

    def run(self, source: str, *, seconds: float, keep: int, then_ask: tuple[str, ...] = ()) -> Ran:
        """Runs one cell for at most *seconds*, interrupts it then, and kills it if that fails.

        Time for which other work on the machine keeps the kernel from running is added to all
        limits, see `FairClock`.
        Of its output at most *keep* bytes are kept. With *then_ask* it is known what will be
        asked for next, which saves a question. Raises NotStartedError when the kernel was lost
        by no doing of its own.
        """

    def ask(self, names: tuple[str, ...], *, seconds: float) -> Said:
        """The values of *names*, without a trace in the notebook."""

    def call(self, request: str, *, seconds: float) -> Called:
        """What `grader.wire.trial.answer` says to *request*, within *seconds*."""

    def restart(self) -> None:
        """Puts a fresh kernel in a fresh folder in the place of this one.

        Raises NotStartedError.
        """

    def close(self) -> None:
        """Ends the kernel with all its processes, and removes its folder."""

    @property
    def pid(self) -> int | None:
        """The number of its process where the grader runs, to count what it does from outside.

        None when there is none, and where that is not known.
        """

    @property
    def about(self) -> Mapping[str, object]:
        """Interpreter, platform and packages, as the kernel told before any student's code."""


# Each starts a kernel, or raises NotStartedError.
kernels: Registry[Callable[[Terms], Session]] = Registry("kernel", "grader.kernels")
