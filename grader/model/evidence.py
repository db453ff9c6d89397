"""The evidence from executing one submission: immutable plain data without verdicts."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from grader.errors import visible

# A value in the kernel as encoded by the probe: JSON, tagged by "t" (see grader.wire.encoding).
Raw = Mapping[str, object]


WAITING_TAG = "waits"
"""The tag of an answer that was not set because a package is missing; kernels can't send it."""


class Outcome(StrEnum):
    """How the execution of a cell or notebook ended."""

    FINISHED = "finished"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    REFUSED = "refused"
    """The grader could not run it, which is never the student's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """The execution of one code cell."""

    index: int
    """Counting all cells of the notebook from 0."""
    outcome: Outcome
    seconds: float
    error: str | None = None
    """Such as "ZeroDivisionError: division by zero"; None if it raised nothing."""
    line: int | None = None
    """The line of the cell that raised, from 1."""
    output: str = ""
    """The start and the end of its printed output, truncated when recorded."""

    @property
    def has_failed(self) -> bool:
        """Whether the cell did not finish."""
        return self.outcome is not Outcome.FINISHED or self.error is not None

    @property
    def trouble(self) -> str:
        """Why the cell did not finish, such as "ZeroDivisionError: ..." or "out of memory"."""
        reason = self.error or self.outcome.value.replace("_", " ")
        return visible(reason) if self.has_failed else ""

    def describe_failure(self, number: int) -> str:
        """Returns what went wrong and where, such as "code cell 4, line 2: NameError: ...".

        *number* is the number that Jupyter shows beside the cell after Run All.
        """
        line = f", line {self.line}" if self.line else ""
        return f"code cell {number}{line}: {self.trouble}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The kernel's value of one name."""

    name: str
    raw: Raw | None
    """None if the name was not defined."""
    absent: str | None = None
    """Why it was not defined, for the student, such as "cell 4 stopped ..."."""

    @property
    def missing_requirement(self) -> str:
        """The device or package that the answer waits for; empty if there is none."""
        found = self.raw.get("deferred", "") if self.raw else ""
        return found if isinstance(found, str) else ""

    @property
    def is_unexecuted(self) -> bool:
        """Whether there is no answer because a cell needs a package that was not installed."""
        return self.raw is not None and self.raw.get("t") == WAITING_TAG


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One submitted notebook, read but not trusted."""

    student: str
    path: str
    sha256: str
    """SHA-256 of the file."""
    received: str | None = None
    """The file's time, ISO 8601 UTC; no proof of when it was submitted."""
    refusal: str | None = None
    """Why it can't be executed, for the student; None if it can."""


DISTURBED = "disturbed"
"""Key in the evidence's environment: answers that other work may have affected, and why."""
CUT_SHORT = "cut_short"
"""Key in the evidence's environment: answers lost to a limit of the grader, and which limit."""
RERUN = "rerun"
"""Key in the evidence's environment: why the notebook ran a second time, alone."""
VERSION = "version"
"""Key in the environment of evidence from a paper exam: its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All evidence from one execution."""

    submission_sha256: str
    outcome: Outcome
    answers: Mapping[str, Answer]
    cells: tuple[CellRun, ...]
    seconds: float
    note: str | None = None
    """For REFUSED and for reached limits: what happened, in one sentence."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """Interpreter, packages, limits and sandbox layers; for a paper exam, its version."""

    @property
    def is_on_paper(self) -> bool:
        """Whether the answers were on paper and typed in by a person, so that nothing ran."""
        return VERSION in self.environment

    @property
    def disturbances(self) -> Mapping[str, str]:
        """The answers that other work on the machine may have affected, and how."""
        found = self.environment.get(DISTURBED)
        return found if isinstance(found, Mapping) else {}

    @property
    def cut_short(self) -> Mapping[str, str]:
        """The answers that a limit of the grader kept from being found or read, and which limit."""
        found = self.environment.get(CUT_SHORT)
        return found if isinstance(found, Mapping) else {}

    @property
    def rerun(self) -> str | None:
        """Why the notebook ran a second time, alone; None if it ran once."""
        found = self.environment.get(RERUN)
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resource limits of one submission."""

    cell_seconds: float = 60.0
    """Time for each cell. `FairClock` extends it, up to four times, while other work keeps the
    kernel from running. Setup code, reading answers, and calls have limits of their own."""
    notebook_seconds: float = 600.0
    """Time for all cells together."""
    memory_bytes: int | None = 4_000_000_000
    """Memory of all processes together."""
    scratch_bytes: int = 500_000_000
    """Total size of the files that the notebook writes, if the sandbox can limit it."""
    processes: int = 32
    """Processes and threads at a time."""
    output_bytes: int = 64_000
    """Output kept per cell; the rest is counted and cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a student's function: its inputs, never the expected result."""

    inputs: str = "{}"
    """Inputs by argument name, as JSON in the form of `grader.wire.calls`."""
    seed: int = 0
    example: tuple[str, ...] = ()
    """Visible expressions to evaluate instead, which call the function by its alias."""
    group: str = ""
    """Calls of one group are judged together: if one ends the kernel or is late, all fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A measurement to make in separate kernels, while no part of the notebook runs."""

    setup: str
    """Source of the grader. It defines `prepare(seed)`, which returns new arguments for a round;
    `baseline(*arguments)`, to compare with; or `measure(*arguments)`, which returns a count."""
    alone: bool = False
    """Whether only the baseline is measured, without the student's code."""
    marks: tuple[float, ...] = ()
    """Thresholds for the ratio of baseline to student; the measurement decides each of them."""
    by: str = "time"
    """What to compare: `time`, or the count of `launches`."""
    backward: bool = False
    """Whether to include the launches of the backward pass."""
    least: float = 0.0
    """A lower bound on the count of any implementation."""
    rounds: int = 24
    seconds: float = 20.0
    """Time limit for all rounds together, including preparation."""
    flops: float = 0.0
    """Operations that any implementation must perform."""
    bytes_moved: float = 0.0
    """Bytes that any implementation must read or write, each counted once."""
    dtype: str = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """The calls and measurements of a student's function after the notebook has run."""

    name: str
    """The variable that holds the function."""
    alias: str
    """The name of the function in examples."""
    driver: str = ""
    """Source that defines `drive(answer, **inputs)`; if empty, the function is called directly."""
    tools: tuple[str, ...] = ()
    """Sources of modules that the driver uses; they import nothing from `grader`."""
    calls: tuple[Call, ...] = ()
    seconds: float = 5.0
    """Time limit of each call."""
    device: str = "cpu"
    """`cuda` if the function needs a GPU; machines without one defer it."""
    needs: tuple[str, ...] = ()
    """Names in `grader.model.packages`; machines without one of these packages defer it."""
    as_read: bool = False
    """Whether to define the functions from the notebook's source again before the calls. This
    ensures that the called code is the code that was checked for forbidden constructs."""
    forbid: tuple[str, ...] = ()
    """Names that the function must not use, which is monitored in calls on hidden inputs."""
    benchmark: Benchmark | None = None

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of each call, which identifies it."""
        # The digest of a JSON list, whose first items are long and the same for all calls.
        shared = _hash_shared_texts((self.driver, *self.tools))
        found = []
        for call in self.calls:
            digest = shared.copy()
            own = json.dumps([call.inputs, str(call.seed), *call.example])
            digest.update(f", {own[1:]}".encode())
            found.append(digest.hexdigest()[:16])
        return tuple(found)


@lru_cache(maxsize=64)
def _hash_shared_texts(texts: tuple[str, ...]) -> hashlib._Hash:
    """Returns the hash of the beginning of a JSON list; copy it before an update."""
    return hashlib.sha256(json.dumps(texts)[:-1].encode())


class Overlay(ABC):
    """Replaces cells of a submission, and takes answers from the outputs of cells.

    It can be pickled. What it puts into the notebook runs in the student's kernel, so it **may
    contain secrets**. Its cells are those of `grader.notebook`, which this room can't import.
    """

    @abstractmethod
    def apply(self, cells: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the cells to execute in place of the student's *cells*."""

    @abstractmethod
    def answers(
        self, cells: Sequence[Any], outputs: Mapping[int, Sequence[Sequence[str]]]
    ) -> dict[str, Answer]:
        """Returns the answers by name, from the executed *cells*.

        *outputs* are those of each cell by index, in order: `("error",)`, `("stderr",)`, and
        `("result", text)`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    """How notebooks are executed."""

    limits: Limits = field(default_factory=Limits)
    sandbox: str = "auto"
    device: str = "cpu"
    """`cpu` hides all GPUs from the notebook, so that it runs the same on every machine."""
    loopback: bool = False
    """Whether the notebook may connect to itself over 127.0.0.1; no other network exists."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that the set defines."""
    overlay: Overlay | None = None
    """Replaces cells of the submission, for formats whose tests are cells."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Files (path, content) to write into the kernel's folder before the first cell."""
    machine: str = ""
    """The profile of the executing machine as JSON; empty if it was not calibrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(ExecutionSettings):
    """One submission to execute; without `overlay` it contains no secrets."""

    submission: Submission
    names: tuple[str, ...]
    """The variables to read."""
    call_plans: tuple[CallPlan, ...] = ()
    """The calls and measurements of those that hold functions."""
    seed: int = 0
    """Seed for random, numpy, and torch in the kernel."""
    rerun: str = ""
    """If this is a second run with nothing else of the batch running: how other work on the machine
    interfered with the first."""
