"""What has to wait is filled in later: for a GPU, and for a machine that is less busy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading import batch, run
from grader.grading.run import grade
from grader.grading.settings import Settings
from grader.model import Evidence, Grade, Job, Mark, Verdict
from grader.runtime.execute import execute as execute_job
from grader.runtime.machine.hardware import has_cuda
from tests.helpers.banks import a_roster
from tests.helpers.commands import ok
from tests.helpers.measurements import a_roof

SPEC = """\
id: two-devices
title: Two devices
family: training
prompt: Write two functions.
parts:
  - id: here
    kind: code
    ask: Twice x.
    starter: |
      def here(x):
          ...
  - id: there
    kind: {kind}
    ask: Twice x, on a GPU.
    starter: |
      def there(x):
          ...
{more}
"""
SOLUTION = """\
def here(x):
    return 2 * x


def here_right_sum(x):
    return x + x


def here_cases(rng, given):
    for x in (0, 1, 5, -3):
        yield "numbers", {"x": x}


def here_wrong_square(x):
    return x * x


def here_wrong_text(x):
    return str(x)


def here_wrong_list(x):
    return [x, x]


there, there_right_sum, there_cases = here, here_right_sum, here_cases
there_wrong_square, there_wrong_text = here_wrong_square, here_wrong_text
there_wrong_list = here_wrong_list
"""
# A baseline that is fast for as long as it runs alone, as on a machine that becomes busy.
BUSY = """\
    speed: [{ratio: 5, share: 100%}]
    setup: |
      import time

      calls = []

      def prepare(seed):
          return (seed,)

      def baseline(x):
          calls.append(x)
          time.sleep(0 if len(calls) <= 5 else 0.1)
          return 2 * x
"""


@pytest.fixture
def course(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A release of a problem whose second part needs a GPU, and one student's solved notebook."""
    return handed_in(tmp_path, SPEC.format(kind="code", more="    device: cuda"))


def handed_in(tmp_path: Path, spec: str) -> tuple[Path, Path, Path]:
    bank = tmp_path / "bank"
    for name, text in (
        ("problems/training/two-devices.yaml", spec),
        ("problems/sets/lab.yaml", "id: lab\ntitle: Lab\nproblems: [two-devices]\n"),
        ("solutions/training/two-devices.py", SOLUTION),
    ):
        (bank / name).parent.mkdir(parents=True, exist_ok=True)
        (bank / name).write_text(text)
    roster = a_roster(tmp_path, "id\nann\nbo\n")
    ok("render", "lab", "--roster", roster, "--out", tmp_path / "release", "--bank", bank)
    handed = tmp_path / "submissions"
    ok("solve", tmp_path / "release", "--student", "ann", "--out", handed / "ann.ipynb")
    blank = (tmp_path / "release" / "notebooks" / "bo.ipynb").read_bytes()
    (handed / "bo.ipynb").write_bytes(blank)
    return handed, tmp_path / "release", tmp_path / "results"


def marks(results: Path, student: str) -> dict[str, Mark]:
    with Gradebook.open(results) as book:
        (found,) = (g for g in book.grades() if g.student == student)
    assert isinstance(found, Grade)
    return {mark.part: mark for mark in found.marks}


@pytest.mark.thorough
def test_what_needs_a_gpu_waits_for_one_and_is_filled_in(
    course: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    handed, release, results = course
    first = grade(handed, release, results, Settings())
    assert first.executed_count == 2
    ann, bo = (marks(results, student) for student in ("ann", "bo"))
    assert ann["here"].points == 1.0
    assert (ann["there"].points, ann["there"].verdict) == (None, Verdict.UNSETTLED)
    assert "needs a GPU" in ann["there"].feedback
    assert bo["there"].verdict is Verdict.ABSENT  # an untouched cell needs no GPU

    assert grade(handed, release, results, Settings()).executed_count == 0
    monkeypatch.setattr(run, "has_cuda", lambda: True)
    later = grade(handed, release, results, Settings(device="cuda", only_deferred=True))
    assert later.executed_count == 1
    ann = marks(results, "ann")
    assert [ann[part].points for part in ("here", "there")] == [1.0, 1.0]
    # It is one piece of evidence now: nothing is left to fill in, or to run again elsewhere.
    assert (
        grade(handed, release, results, Settings(device="cuda", only_deferred=True)).executed_count
        == 0
    )
    assert grade(handed, release, results, Settings()).executed_count == 0
    assert marks(results, "ann") == ann
    assert ok("score", results, "--dry-run").output.startswith("0 of 2 grades would change")


def test_a_gpu_that_is_not_there_is_said(course: tuple[Path, Path, Path]) -> None:
    handed, release, results = course
    with pytest.raises(SetupError, match="deferred for a CPU"):
        grade(handed, release, results, Settings(only_deferred=True))
    if not has_cuda():
        with pytest.raises(SetupError, match="no CUDA device"):
            grade(handed, release, results, Settings(device="cuda", only_deferred=True))


@pytest.mark.slow
def test_a_measurement_that_stays_unclear_when_it_is_made_alone_is_for_a_person(
    tmp_path: Path,
) -> None:
    handed, release, results = handed_in(tmp_path, SPEC.format(kind="measurement", more=BUSY))
    (handed / "bo.ipynb").unlink()
    assert grade(handed, release, results, Settings()).executed_count == 1
    ann = marks(results, "ann")
    assert ann["here"].points == 1.0
    assert ann["there"].verdict is Verdict.UNSETTLED
    assert "the machine was busy" in ann["there"].feedback
    assert "the baseline was slower while this code was running" in ann["there"].feedback
    assert ann["there"].feedback.endswith("a person will review it.")
    # Nobody can keep the grader measuring for ever.
    assert grade(handed, release, results, Settings()).executed_count == 0
    with Gradebook.open(results) as book:
        found = book.find_evidence(next(book.grades()).submission_sha256 or "")
    assert found is not None
    assert found.rerun == "3 measurements of q1_there did not give a clear result"


@pytest.mark.thorough
def test_what_other_work_may_have_cost_stays_open_and_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed, release, results = handed_in(tmp_path, SPEC.format(kind="code", more=""))
    why = "a call of q1_there hit a time limit while the machine was busy with other work"
    runs: list[tuple[str, str]] = []

    def execute(job: Job, data: bytes, **more: Any) -> Evidence:
        runs.append((job.submission.student, job.rerun))
        found = execute_job(job, data, **more)
        if len(runs) > 4:  # the machine is free by now
            return found
        return replace(found, environment={**found.environment, "disturbed": {"q1_there": why}})

    monkeypatch.setattr(batch, "execute", execute)
    busy = grade(handed, release, results, Settings(jobs=1))
    assert runs == [("ann", ""), ("bo", ""), ("ann", why), ("bo", why)]
    # Ann has all points anyway. Bo handed in nothing, but that is not known for certain.
    assert busy.unsettled_count == 1
    assert marks(results, "ann")["there"].points == 1.0
    bo = marks(results, "bo")
    assert (bo["here"].points, bo["there"].points) == (0, None)
    assert bo["there"].feedback == (
        f"This mark is open, and no points are deducted: {why}. The same happened when the "
        "notebook ran alone. Grade it again."
    )

    later = grade(handed, release, results, Settings(jobs=1))
    assert (runs[4:], later.unsettled_count) == ([("bo", "")], 0)
    assert marks(results, "bo")["there"].verdict is Verdict.ABSENT


FAST = """\
    speed: [{ratio: 2, share: 100%}]
    work: {flops: 1e15, dtype: fp64}
    setup: |
      import time

      def prepare(seed):
          return (seed,)

      def baseline(x):
          time.sleep(0.02)
          return 2 * x
"""


@pytest.mark.thorough
def test_what_is_faster_than_the_machine_can_be_waits_for_a_person(tmp_path: Path) -> None:
    handed, release, results = handed_in(tmp_path, SPEC.format(kind="measurement", more=FAST))
    (handed / "bo.ipynb").unlink()
    machine = a_roof().to_json()
    grade(handed, release, results, Settings(machine=machine))
    mark = marks(results, "ann")["there"]
    assert mark.verdict is Verdict.UNSETTLED
    assert "faster than this machine" in mark.feedback
    with Gradebook.open(results) as book:
        (found,) = (g for g in book.grades() if g.student == "ann")
    assert found.environment["machine"] == a_roof().id
    grade(handed, release, results, Settings(again=True))  # without a profile, speed alone counts
    assert marks(results, "ann")["there"].verdict is Verdict.CORRECT
