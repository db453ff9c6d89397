"""Runs the hostile suite against this installation and reports which attacks failed."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from grader.bank.folders import Bank
from grader.bank.index import own_bank
from grader.errors import SetupError
from grader.runtime.sandbox import choose_sandbox
from grader.security.redteam import watch
from grader.security.redteam.batch import AttackSettings, GradedBatch, grade_course
from grader.security.redteam.course import (
    RedTeamCourse,
    copy_honest_submissions,
    make_course,
    runnable_attacks,
)
from grader.security.redteam.files import Attack, attacks_folder, read_attacks
from grader.security.redteam.judge import (
    AttackResult,
    SubmissionResult,
    Traces,
    changed_grades,
    gradebook_defects,
    judge_attack,
)

WHOLE = "batch"
"""The class of the checks on the batch as a whole."""
MOST_MEMORY = 1_000_000_000
_LEAVING = ("files", "network", "processes", "ipc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The attacks that were tried, and their results."""

    rows: tuple[AttackResult, ...]
    layers: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no attack succeeded and none was too dangerous to try."""
        return all(row.has_held is not False for row in self.rows)


def run_attacks(terms: AttackSettings, attacks: Path | None = None) -> Report:
    """Runs the attacks in *attacks*, by default those of the package, beside honest submissions.

    Raises SetupError if the requested sandbox is not available, if a class of attacks does not
    exist, or if this machine can't grade even honest submissions.
    """
    began = time.monotonic()
    selected = read_attacks(attacks or attacks_folder(), terms.selection)
    wanted = tuple(a for a in selected if terms.slow or not a.slow)
    described = choose_sandbox(terms.sandbox).describe()
    layers, missing = (tuple(map(str, described[k])) for k in ("layers", "missing"))  # type: ignore[call-overload]
    packages = [p for a in wanted for p in a.needs if find_spec(p) is not None]
    runnable = runnable_attacks(wanted, layers, packages)
    rows = [_untried_row(a, layers) for a in wanted if a not in runnable]
    root = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        rows += _run_attacks(root, runnable, terms, frozenset(layers))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    rows.sort(key=lambda row: (row.group == WHOLE, row.name))
    seconds = round(time.monotonic() - began, 1)
    return Report(rows=tuple(rows), layers=layers, missing=missing, seconds=seconds)


def _untried_row(attack: Attack, layers: Sequence[str]) -> AttackResult:
    """Returns the result of an attack that can't or must not be tried here."""
    absent = tuple(layer for layer in attack.unsafe_without if layer not in layers)
    if absent:
        reason = f"not tried, because it would do harm without the layer {', '.join(absent)}"
        has_held: bool | None = False
    else:
        reason, has_held = f"not tried: {', '.join(attack.needs)} is not installed", None
    return AttackResult(
        name=attack.name,
        group=attack.group,
        tries=attack.tries,
        has_held=has_held,
        observation=reason,
        missing=absent,
    )


def _run_attacks(
    root: Path, attacks: Sequence[Attack], terms: AttackSettings, layers: frozenset[str]
) -> list[AttackResult]:
    """Grades all attacks among honest submissions, and returns what each of them achieved."""
    with watch.DecoySockets(root) as outside:
        course = make_course(root, Bank.open([own_bank()]), attacks, outside.words)
        copy_honest_submissions(course, root / "alone")
        alone = grade_course(course, root / "alone", root / "results-alone", terms)
        if alone.code != 0:
            raise SetupError(
                "honest submissions could not be graded, so attacks can't be judged: "
                + (alone.errors.strip()[-300:] or _first_open_reason(alone)),
                fix="run `grader doctor`",
            )
        before = watch.snapshot(course.folder, course.folder / "results")
        shared = watch.shared_memory_ids()
        with watch.OrphanReaper() as orphans:
            batches = list(_grade_all(course, terms))
            leftovers = [*orphans.wait_for_remaining(), *_remove_planted_files(course)]
            for number in watch.shared_memory_ids() - shared:
                watch.remove_shared_memory(number)
                leftovers.append(watch.Leftover("", f"System V shared memory {number} was left"))
        after = watch.snapshot(course.folder, course.folder / "results")
        names = sorted(before.keys() | after.keys())
        changed = [f"{n} has changed" for n in names if before.get(n) != after.get(n)]
    tokens = {s.token for s in course.takers}
    traces = Traces(
        leftovers={t: [found.what for found in leftovers if found.token == t] for t in tokens},
        heard_tokens=frozenset(outside.heard),
    )
    unexplained = [found.what for found in leftovers if found.token not in tokens]
    unknown_texts = [text for text in outside.heard if not any(t in text for t in tokens)]
    unexplained += [f"something sent {text[:40]!r} to a socket outside" for text in unknown_texts]
    rows = list(_judge_takers(course, batches, traces, layers))
    honest = {s.id: alone.results[s.id] for s in course.honest}
    rows += _check_batches(batches, honest, changed)
    absent = tuple(layer for layer in _LEAVING if layer not in layers)
    return [*rows, _leftover_result(unexplained, absent)]


def _first_open_reason(batch: GradedBatch) -> str:
    """Returns why the first open mark is open; the exit status if no mark is open."""
    grades = (found.grade for found in batch.results.values())
    marks = (mark for grade in grades if grade for mark in grade.marks if mark.points is None)
    return next((mark.feedback for mark in marks), f"exit status {batch.code}")


def _grade_all(course: RedTeamCourse, terms: AttackSettings) -> Iterator[GradedBatch]:
    """Grades the folder of submissions, and the zip if any attack uses it."""
    results = course.folder / "results"
    yield grade_course(course, course.submissions, results / "folder", terms)
    if course.archive.exists():
        yield grade_course(course, course.archive, results / "zip", terms)


# -- what was seen


def _remove_planted_files(course: RedTeamCourse) -> Iterator[watch.Leftover]:
    """Removes and yields what attacks wrote outside of the results and what kernels left."""
    places = {**watch.watched_folders(), course.home: True, course.folder: True}
    for path, left in list(watch.find_planted(course.run, places)):
        if not path.is_relative_to(course.folder / "results"):
            watch.remove_path(path)
            yield left
    for path in course.scratch.iterdir():
        yield watch.Leftover("", f"{path.name} was left in the temporary folder")


def _judge_takers(
    course: RedTeamCourse, batches: Sequence[GradedBatch], traces: Traces, layers: frozenset[str]
) -> Iterator[AttackResult]:
    """Yields the results of all attacks, and of honest students with faults."""
    nothing = SubmissionResult()
    for sitter in course.takers:
        packed = sitter.attack.form == "pack"
        batch = batches[-1] if packed else batches[0]
        found = batch.results.get(sitter.id, nothing)
        row = judge_attack(sitter, found, traces, course, layers)
        if not sitter.honest or not row.has_held:
            yield row


def _check_batches(
    batches: Sequence[GradedBatch], honest: dict[str, SubmissionResult], changed: list[str]
) -> Iterator[AttackResult]:
    """Yields the results of the checks on the batches as a whole."""
    ended = [f"exit status {b.code}: {b.errors.strip()[-200:]}" for b in batches if b.code != 0]
    ended += ["a traceback was printed" for b in batches if "Traceback" in b.errors]
    grades = [text for b in batches for text in changed_grades(honest, b.results)]
    books = [text for b in batches for text in gradebook_defects(b.out)]
    yield _batch_result("ends", "The batch completes without an internal error.", ended)
    yield _batch_result(
        "honest-grades", "Honest students get the same grades as without attacks.", grades
    )
    yield _batch_result("gradebook", "The gradebook and all evidence are intact.", books)
    yield _batch_result("course", "No file of the instructor has changed or appeared.", changed)
    large = [f"it used {b.memory / 1e9:.1f} GB" for b in batches if b.memory > MOST_MEMORY]
    yield _batch_result("memory", "The grader itself uses less than 1 GB of memory.", large)


def _leftover_result(unexplained: list[str], absent: tuple[str, ...]) -> AttackResult:
    """Returns the result for *unexplained* leftovers, which *absent* layers would have
    prevented."""
    tries = "Nothing else is left behind: no process, file, memory or connection."
    row = _batch_result("left-behind", tries, unexplained)
    return replace(row, missing=absent) if unexplained else row


def _batch_result(name: str, tries: str, faults: Sequence[str]) -> AttackResult:
    """Returns the result of the check *name*, which holds if there are no *faults*."""
    return AttackResult(
        name=f"{WHOLE}/{name}",
        group=WHOLE,
        tries=tries,
        has_held=not faults,
        observation="; ".join(faults[:4]),
    )


def report_data(report: Report) -> dict[str, object]:
    """Returns the report as plain data."""
    data: dict[str, object] = {"holds": report.holds, **asdict(report)}
    rows = [asdict(row) for row in report.rows]
    # The names in the JSON are older than those of the fields.
    names = {"name": "attack", "group": "class", "has_held": "held", "observation": "seen"}
    data["attacks"] = [{names.get(k, k): v for k, v in row.items()} for row in rows]
    del data["rows"]
    return dict(json.loads(json.dumps(data)))
