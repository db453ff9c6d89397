"""How a run of `grader grade` executes submissions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader.model import Limits, Trial
from grader.model.assignment import SourceNotebook

_FIRST_PROCESSES = 256
"""The usual limit on processes in the first releases. A fingerprint keeps it where the usual limit
holds, so that what was executed before stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How submissions are executed."""

    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    executor: str = "threads"
    sandbox: str = "auto"
    device: str = "cpu"
    loopback: bool = False
    """Whether notebooks may talk to themselves over 127.0.0.1; set when a problem needs it."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables of the notebooks; set by the release."""
    source: SourceNotebook | None = None
    """The notebook of nbgrader's that is graded, in the place of a release."""
    files: tuple[tuple[str, bytes], ...] = ()
    """What lies beside it."""
    again: bool = False
    """Execute even what has been executed in this way before."""
    machine: str = ""
    """The profile of this machine, as JSON, for what is measured."""
    names: Path | None = None
    """Whose is what a platform's numbers are on: its gradebook as CSV."""
    deferred: bool = False
    """Fill in what earlier runs had put off and this machine can make, and nothing else."""

    def fingerprint(self, names: tuple[str, ...], trials: tuple[Trial, ...] = ()) -> str:
        """Stands for how a notebook is executed and what it is asked; another means once more."""
        # What is filled in belongs to the run that had put it off.
        device = "cpu" if self.deferred else self.device
        limits = asdict(self.limits)
        if self.limits.processes == Limits().processes:
            limits["processes"] = _FIRST_PROCESSES
        how = [limits, device, sorted(names), self.loopback, self.variables]
        if trials:
            how.append([[t.name, t.seconds, t.race and asdict(t.race), *t.digests] for t in trials])
        text = json.dumps(how, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
