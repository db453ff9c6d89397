"""The zip of a Gradescope autograder, and the settings in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.errors import SetupError
from grader.files import require_replaceable, write_atomic
from grader.integrations.archive import make_zip
from grader.integrations.base import option
from grader.integrations.github.class_folders import needs_cuda, needs_torch
from grader.integrations.gradescope.results import HIDDEN_TOTAL, Tiers, Visibility, ungraded_result
from grader.integrations.install import Source, chosen_source
from grader.integrations.templates import render_folder
from grader.model import Release
from grader.release.file import load_release, release_bytes
from grader.runtime.sandbox.linux import FIRST_UID
from grader.text.words import count_of, join_names

RELEASE, SETTINGS, EARLY, WHEELS = "release.json", "settings.json", "not-finished.json", "wheels"
EXECUTABLE = ("setup.sh", "run_autograder")
SPARE_SECONDS = 30
"""How much earlier than Gradescope the grader stops, so that it can still write a result."""
PLAIN_MB, TORCH_MB = 768, 1536
"""Memory of the smallest Gradescope container that an exam runs in, without and with torch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the autograder runs: options of the command, and in the zip as `settings.json`."""

    marks: Visibility = option(Visibility.ALWAYS, help="When students see points and reasons.")
    solutions: Visibility | None = option(
        None, help="When students see accepted answers, which are omitted unless this is given."
    )
    output: Visibility = option(
        Visibility.STAFF, help="When students see what the autograder prints."
    )
    rate: str = option(
        "",
        metavar="N/MINUTES",
        help="Allow N submissions within MINUTES. Submissions that failed because of an internal "
        "error do not count.",
    )
    minutes: float = option(
        10,
        least=2,
        most=40,
        metavar="MINUTES",
        help="Time limit of the assignment in Gradescope, in minutes.",
    )
    memory_mb: int | None = option(
        None,
        least=512,
        metavar="MB",
        help="Memory of the container in Gradescope, in MB.  [default: 768, or 1536 with torch]",
    )
    sandbox: str = option(
        "required:user",
        metavar="auto|required[:LAYERS]",
        help="Isolation required for student code in Gradescope.",
    )
    torch: bool = False

    def __post_init__(self) -> None:
        """Raises SetupError if `rate` can't be read."""
        _ = self.limit

    @property
    def tiers(self) -> Tiers:
        """When students see their marks, the solutions, and the output."""
        solutions = self.solutions or Visibility.AFTER_PUBLISHED
        return Tiers(marks=self.marks, solutions=solutions, output=self.output)

    @property
    def limit(self) -> tuple[int, float] | None:
        """Maximum number of submissions, and the period in minutes; None for no limit."""
        if not self.rate:
            return None
        match = re.fullmatch(r"\s*(\d{1,4})\s*/\s*(\d{1,6}(?:\.\d+)?)\s*", self.rate)
        if match is None or int(match[1]) < 1 or float(match[2]) <= 0:
            raise SetupError(
                f"--rate '{self.rate}' is not a limit",
                fix="write N/MINUTES, such as 3/60 for 3 per hour",
            )
        return int(match[1]), float(match[2])

    @property
    def container_mb(self) -> int:
        """The memory of the container in MB."""
        return self.memory_mb or (TORCH_MB if self.torch else PLAIN_MB)

    @property
    def time_limit(self) -> int:
        """The time limit of `run_autograder` in seconds."""
        return max(SPARE_SECONDS, round(60 * self.minutes) - SPARE_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAutograder:
    """A zip that was written."""

    release: str
    bytes: int
    notes: tuple[str, ...]


def write_autograder(
    release_file: Path, out: Path, how: RunSettings, bank: Bank, grader_source: str = ""
) -> WrittenAutograder:
    """Writes the zip of the release in *release_file* to *out*; a local wheel goes into it."""
    release = load_release(release_file)
    require_replaceable(out, EARLY.encode())
    source = chosen_source(grader_source)
    how = replace(how, torch=needs_torch(release))
    data = autograder_zip(how, release_bytes(release), release.exam.title, source, bank.templates)
    write_atomic(out, data, private=True)
    notes = tuple(_notes(release, how, source))
    return WrittenAutograder(release=release.id, bytes=len(data), notes=notes)


def autograder_zip(
    how: RunSettings, release: bytes, title: str, source: Source, templates: tuple[Path, ...]
) -> bytes:
    """Returns the zip that an instructor uploads. **Secret**: it contains the release."""
    wheel = source.wheel
    texts = render_folder(
        "gradescope",
        templates,
        title=" ".join(title.split()),
        install=source.requirement() if wheel is None else f"./{WHEELS}/{wheel.name}",
        git="git+" in source.url,
        torch=how.torch,
        uid=FIRST_UID,
        seconds=how.time_limit,
    )
    files = {
        **dict(texts),
        RELEASE: release,
        SETTINGS: (json.dumps(asdict(how), indent=2) + "\n").encode(),
        EARLY: ungraded_result(
            "Grading of your submission did not finish. This is not your fault, and no points "
            "are deducted. Submit again, and tell your instructor if this happens again.",
            unfinished=True,  # its list of counted submissions is not one
        ),
        **({} if wheel is None else {f"{WHEELS}/{wheel.name}": source.wheel_bytes()}),
    }
    modes = {**dict.fromkeys(EXECUTABLE, 0o755), RELEASE: 0o600}
    return make_zip(dict(sorted(files.items())), lambda name: modes.get(name, 0o644))


def network_problems(release: Release) -> frozenset[str]:
    """Returns the ids of problems whose code communicates between processes."""
    return frozenset(
        name for name, problem in release.problems.items() if "loopback" in problem.needs
    )


def _notes(release: Release, how: RunSettings, source: Source) -> Iterator[str]:
    """Yields what an instructor must know before uploading the autograder."""
    if source.note:
        yield source.note
    if source.wheel is None:
        yield f"setup.sh installs {source.requirement()}; Gradescope must be able to reach that"
    bare = [s.id for s in release.students.values() if "@" not in s.id + s.email]
    if bare:
        yield (
            f"{len(bare)} of {count_of(len(release.students), 'student')} have no e-mail on the "
            f"roster ({join_names(bare, most=3)}): Gradescope must know them by their id, as user "
            "number, as e-mail, or as the part of the e-mail before the @"
        )
    if how.torch:
        yield f"some parts need torch: choose a container with at least {TORCH_MB / 1024:g} GB"
    if needs_cuda(release):
        yield "some parts need a GPU, which Gradescope does not have: they stay open, unscored"
    if network_problems(release):
        yield (
            "some parts communicate between processes over 127.0.0.1, which needs a network that "
            "Gradescope's containers can't isolate: if the code of such a part fails, the part "
            "stays open, unscored"
        )
    if any(part.kind == "explanation" for p in release.problems.values() for part in p.parts):
        yield "manually graded parts stay open there, unscored"
    hidden = [how.tiers.marks, *([how.tiers.solutions] if how.solutions else [])]
    if any(tier is not Visibility.ALWAYS for tier in hidden):
        yield HIDDEN_TOTAL
