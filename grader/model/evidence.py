"""What executing one submission produced: plain data, immutable, and never a verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grader.errors import visible
from grader.model.assignment import SourceNotebook

# What the probe makes of a value in the kernel: strict JSON, tagged by "t" (see grader.wire.probe).
Raw = Mapping[str, object]


WAITS = "waits"
"""The tag, which no kernel can send, of an answer that a missing package kept from being set."""


class Outcome(StrEnum):
    """Did it run?"""

    FINISHED = "finished"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    REFUSED = "refused"
    """We could not start it; never the student's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """How one code cell went."""

    index: int
    """Counting all cells of the notebook from 0."""
    outcome: Outcome
    seconds: float
    error: str | None = None
    """Such as "ZeroDivisionError: division by zero"; None when it raised nothing."""
    line: int | None = None
    """The line of the cell that raised, from 1."""
    output: str = ""
    """The start and the end of what it printed, cut to length when recorded."""

    @property
    def failed(self) -> bool:
        """Whether it did not run to its end."""
        return self.outcome is not Outcome.FINISHED or self.error is not None

    @property
    def trouble(self) -> str:
        """What kept it from its end, such as "ZeroDivisionError: ..." or "out of memory"."""
        said = self.error or self.outcome.value.replace("_", " ")
        return visible(said) if self.failed else ""

    def said(self, number: int) -> str:
        """Its trouble with its place, such as "code cell 4, line 2: NameError: ...".

        *number* is what Jupyter shows beside it when all code cells are run from the top.
        """
        line = f", line {self.line}" if self.line else ""
        return f"code cell {number}{line}: {self.trouble}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the kernel answered when asked for one name."""

    name: str
    raw: Raw | None
    """None when the name was not defined."""
    absent: str | None = None
    """Why it was not defined, in words for the student, such as "cell 4 stopped ..."."""

    @property
    def waits_for(self) -> str:
        """The device or the package that it waits for; empty when it waits for none."""
        found = self.raw.get("deferred", "") if self.raw else ""
        return found if isinstance(found, str) else ""

    @property
    def never_ran(self) -> bool:
        """Whether there is no answer because a cell needs a package that was missing."""
        return self.raw is not None and self.raw.get("t") == WAITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One notebook that came back, read but not trusted."""

    student: str
    path: str
    sha256: str
    """Of the file's bytes."""
    received: str | None = None
    """The file's time, ISO 8601 UTC; not proof of when it was handed in."""
    refusal: str | None = None
    """Why it can't be executed, in words for the student; None when it can."""


DISTURBED = "disturbed"
"""What the environment of evidence calls the answers that other work may have cost, with why."""
CUT_SHORT = "cut_short"
"""What it calls the answers that a limit of the grader kept from being found or read, with why."""
RERUN = "rerun"
"""What it calls the reason for which a notebook ran a second time, alone."""
VERSION = "version"
"""What the environment of evidence from paper calls the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that one execution left behind."""

    submission_sha256: str
    outcome: Outcome
    answers: Mapping[str, Answer]
    cells: tuple[CellRun, ...]
    seconds: float
    note: str | None = None
    """For REFUSED, and for limits that were hit: what happened, in one sentence."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """Interpreter, packages, limits, sandbox layers, host; of what was on paper: its version."""

    @property
    def typed(self) -> bool:
        """Whether nothing ran, as the answers were on paper, and somebody typed them in."""
        return VERSION in self.environment

    @property
    def disturbed(self) -> Mapping[str, str]:
        """The answers that other work on the machine may have cost, and what it did."""
        found = self.environment.get(DISTURBED)
        return found if isinstance(found, Mapping) else {}

    @property
    def cut_short(self) -> Mapping[str, str]:
        """The answers that a limit of the grader kept from being found or read, and which limit."""
        found = self.environment.get(CUT_SHORT)
        return found if isinstance(found, Mapping) else {}

    @property
    def rerun(self) -> str | None:
        """Why the notebook ran a second time, alone; None when it ran once."""
        found = self.environment.get(RERUN)
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one submission may use."""

    cell_seconds: float = 60.0
    notebook_seconds: float = 600.0
    memory_bytes: int | None = 4_000_000_000
    scratch_bytes: int = 500_000_000
    """Of all files that the notebook writes, where they are kept in a folder of bounded size."""
    processes: int = 32
    """Processes and threads at a time."""
    output_bytes: int = 64_000
    """Kept per cell; the rest is counted and cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a student's function: inputs, and never what is right."""

    inputs: str = "{}"
    """By argument, as JSON in the form of `grader.wire.trial`."""
    seed: int = 0
    example: tuple[str, ...] = ()
    """Expressions to evaluate instead: visible ones, with the function under its plain name."""
    group: str = ""
    """What it is judged with: once one of a group has ended or was late, the group has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What is to be measured, in kernels of their own, when nothing of the notebook runs."""

    setup: str
    """Source of ours. It defines `prepare(seed)`, the arguments of one round, made anew each time;
    `baseline(*arguments)`, what to compare with; or `measure(*arguments)`, what to count."""
    alone: bool = False
    """Whether the baseline is measured by itself, and nothing of the student's."""
    marks: tuple[float, ...] = ()
    """Ratios of baseline to student that matter: on which side of them it lies is to be found."""
    by: str = "time"
    """What is compared: the time, or a count: `launches`, `instructions` or `page_faults`."""
    backward: bool = False
    """Whether the launches of the backward pass count as well."""
    least: float = 0.0
    """A count that no way of doing it can be without."""
    rounds: int = 24
    seconds: float = 20.0
    """For all rounds together, the preparations included."""
    flops: float = 0.0
    """Operations that no way of doing it can be without."""
    bytes_moved: float = 0.0
    """Bytes that must be read or written, each once."""
    dtype: str = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is to be done with a student's function once the notebook has run."""

    name: str
    """The variable that holds it."""
    alias: str
    """What examples call it."""
    driver: str = ""
    """Source that defines `drive(answer, **inputs)`; without, it is called on the inputs."""
    tools: tuple[str, ...] = ()
    """Sources that the driver uses, of modules that need nothing of ours."""
    calls: tuple[Call, ...] = ()
    seconds: float = 5.0
    """For each call."""
    device: str = "cpu"
    """`cuda` for what can't be called elsewhere; on another runner it is put off."""
    needs: tuple[str, ...] = ()
    """Packages, of `grader.model.packages`; on a runner without one of them it is put off."""
    as_read: bool = False
    """Whether the functions that it is made of, as found in the notebook's source, are defined once
    more before the calls: where these are looked at for what they must not use, nothing else should
    be called by their names."""
    forbid: tuple[str, ...] = ()
    """What the function must not use, which is watched while it is called on hidden inputs."""
    race: Race | None = None

    @property
    def digests(self) -> tuple[str, ...]:
        """For each call what tells it from any other."""
        what = [self.driver, *self.tools]
        calls = ([*what, c.inputs, str(c.seed), *c.example] for c in self.calls)
        return tuple(hashlib.sha256(json.dumps(c).encode()).hexdigest()[:16] for c in calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One submission to execute; without `source` it holds nothing secret."""

    submission: Submission
    names: tuple[str, ...]
    """The variables to ask for."""
    trials: tuple[Trial, ...] = ()
    """What to do with those of them that hold functions."""
    limits: Limits
    sandbox: str = "auto"
    device: str = "cpu"
    """`cpu` hides every GPU from the notebook, so that it runs alike on all machines."""
    loopback: bool = False
    """Whether it may talk to itself over 127.0.0.1; nothing else is there in any case."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that the set asks for."""
    source: SourceNotebook | None = None
    """Of nbgrader's: whose cells take the place of the student's, and whose test cells' outputs
    are the answers. Its tests run in the student's kernel, so this one **may hold secrets**."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Put into the folder of the kernel before the first cell, by path."""
    machine: str = ""
    """The profile of the machine that executes, as JSON; empty when it was not calibrated."""
    seed: int = 0
    """For random, numpy and torch in the kernel."""
    rerun: str = ""
    """What other work on the machine did to the first run of it, when this is the second and
    nothing else of the batch runs meanwhile."""
