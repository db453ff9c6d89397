"""The zip of a Gradescope autograder, and the files in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import SetupError
from grader.integrations.archive import make_zip
from grader.integrations.gradescope.results import TextFormat, Tiers, ungraded_result
from grader.integrations.templates import render_folder
from grader.runtime.sandbox.linux import FIRST_UID

RELEASE, SETTINGS, EARLY, WHEELS = "release.json", "settings.json", "not-finished.json", "wheels"
INTERPRETER = "python.tar.gz"
EXECUTABLE = ("setup.sh", "run_autograder")
SPARE_SECONDS = 30
"""How much earlier than Gradescope the grader stops, so that it can still write a result."""
PYTHONS = ("3.12", "3.13", "3.11")
"""In order of preference."""
OLDEST = "3.11"
PLAIN_MB, TORCH_MB = 768, 1536
"""Memory of the smallest Gradescope container that an exam runs in, without and with torch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the autograder runs; in the zip as `settings.json`."""

    tiers: Tiers
    solutions: bool
    """Whether the results contain accepted answers, visible as `tiers.solutions` says."""
    rate: tuple[int, float] | None
    """Maximum number of submissions, and the period in minutes; None for no limit."""
    torch: bool
    """Whether a part needs torch."""
    minutes: float = 10.0
    """Minutes after which Gradescope ends a run."""
    memory_mb: int | None = None
    """Memory of the container in MB; None for the smallest that such an exam needs."""
    sandbox: str = "required:user"
    text_format: TextFormat = TextFormat.TEXT

    @property
    def container_mb(self) -> int:
        """The memory of the container in MB."""
        return self.memory_mb or (TORCH_MB if self.torch else PLAIN_MB)

    @property
    def settings(self) -> bytes:
        """Content of `settings.json`, which `run_autograder` reads."""
        data = {
            "tiers": {
                "marks": self.tiers.marks.value,
                "solutions": self.tiers.solutions.value,
                "output": self.tiers.output.value,
            },
            "solutions": self.solutions,
            "text": self.text_format.value,
            "rate": list(self.rate) if self.rate else None,
            "minutes": self.minutes,
            "memory_mb": self.container_mb,
            "torch": self.torch,
            "sandbox": self.sandbox,
        }
        return (json.dumps(data, indent=2) + "\n").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Autograder(RunSettings):
    """Content and options of an autograder."""

    title: str
    install: str
    """The grader as a requirement for pip; a path names a wheel in the zip."""
    offline: bool = False
    """Whether the zip has a wheel of every package that is needed."""
    wheels: Mapping[str, bytes] = field(default_factory=dict)
    """Content by file name."""
    python: str = PYTHONS[0]
    """The Python version of wheels and interpreter."""
    interpreter: bytes = b""
    """A relocatable Python as a .tar.gz; empty if there is none."""


def autograder_zip(one: Autograder, release: bytes, templates: tuple[Path, ...]) -> bytes:
    """The zip that an instructor uploads. **Secret**: it contains the release.

    Returns the same bytes for the same arguments. Raises SetupError if a template is missing.
    """
    # Wheels of compiled packages are for one version of Python.
    versions = (one.python,) if one.offline else PYTHONS
    relation, least = ("[:2] !=", one.python) if one.offline else (" <", OLDEST)
    texts = render_folder(
        "gradescope",
        templates,
        title=" ".join(one.title.split()),
        install=one.install,
        git="git+" in one.install,
        torch=one.torch,
        offline=one.offline,
        python=one.python,
        versions=" ".join(versions),
        needs=f"Python {least}" + ("" if one.offline else " or newer"),
        refuses=f"sys.version_info{relation} ({least.replace('.', ', ')})",
        uid=FIRST_UID,
        seconds=time_limit(one.minutes),
    )
    files = {
        **dict(texts),
        RELEASE: release,
        SETTINGS: one.settings,
        EARLY: ungraded_result(
            "Grading of your submission did not finish. This is not your fault, and no points "
            "are deducted. Submit again, and tell your instructor if this happens again."
        ),
        **{f"{WHEELS}/{name}": data for name, data in one.wheels.items()},
        **({INTERPRETER: one.interpreter} if one.interpreter else {}),
    }
    missing = [name for name in EXECUTABLE if name not in files]
    if missing:
        raise SetupError(
            f"there is no template gradescope/{missing[0]}.j2", fix="install the package again"
        )
    return make_zip(dict(sorted(files.items())), _file_mode)


def time_limit(minutes: float) -> int:
    """The time limit of `run_autograder` in seconds."""
    return max(SPARE_SECONDS, round(60 * minutes) - SPARE_SECONDS)


def _file_mode(name: str) -> int:
    return 0o755 if name in EXECUTABLE else 0o600 if name == RELEASE else 0o644
