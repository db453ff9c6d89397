"""Scores the stored evidence of a lab of code problems again, with and without what was kept.

    python benchmarks/regrade.py [--variants 8] [--copies 8] [--set lab] [--correct clip-gradients]

What students hand in is the bank's own right and wrong code, run here once for each variant. The
class has several students with each variant, so that it is large enough to be timed. Each student's
code has another comment, so that no result for one student serves another. Times are CPU-seconds of
this process, with reading evidence and drawing papers:

- *nothing kept*: hidden cases and expected results are made from the solutions again.
- *cases kept*: they are read, and every result is compared with them again.
- *one problem corrected*: the points of one problem changed; the other marks are kept.
- *all kept*: nothing changed since the last scoring.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import machine

from grader.bank.folders import Bank
from grader.draw import paper
from grader.gradebook import Gradebook
from grader.grading.kept_marks import rescore_evidence, score_safely
from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.model import Answer, Evidence, Grade, Outcome, Paper, Release, Student, Submission
from grader.release.file import new_release
from grader.release.papers import Papers
from grader.release.pins import Pins

RESULTS = Path(__file__).resolve().parent / "results"
FILE = "regrade.json"
_RIGHT = 0.7


def evidence(mine: Paper, dice: random.Random) -> Evidence:
    """What running a student's notebook would leave: mostly right code, and known-wrong code."""
    answers = {}
    for name, key in mine.named_keys():
        kind = kinds.find(key.part.kind)
        if isinstance(key, CodeKey) and isinstance(kind, CodeKind):
            wrong = [
                f"{key.part.id}_wrong_{one}"
                for one in key.solution_functions.functions_of_kind("wrong")
            ]
            function = key.part.id if dice.random() < _RIGHT else dice.choice(wrong)
            raw = kind.ideal_raw(kind.raw(key, function), key)
        else:
            raw = dice.choice([one.raw for one in kind.examples(key) if one.share is not None])
        answers[name] = Answer(name=name, raw=raw)
    sha256 = hashlib.sha256(mine.student.id.encode()).hexdigest()
    return Evidence(
        submission_sha256=sha256, outcome=Outcome.FINISHED, answers=answers, cells=(), seconds=1.0
    )


def personal(found: Evidence, student: str) -> Evidence:
    """The evidence with code whose text only this student has."""
    comment, answers = f"\n# handed in by {student}\n", dict(found.answers)
    for name, answer in found.answers.items():
        if answer.raw and answer.raw.get("t") == "code":
            raw = {**answer.raw, "source": f"{answer.raw['source']}{comment}"}
            answers[name] = replace(answer, raw=raw)
    return replace(found, answers=answers)


def fill(book: Gradebook, release: Release) -> None:
    """Puts the whole class into an empty gradebook; each variant's code is run once."""
    book.add_students(release.students.values())
    dice, ran = random.Random(1), dict[str, Evidence]()
    for student in release.students.values():
        if student.version not in ran:
            ran[student.version] = evidence(paper(release, student), dice)
        sha256 = hashlib.sha256(student.id.encode()).hexdigest()
        book.add_submissions([Submission(student=student.id, path=student.id, sha256=sha256)])
        mine = personal(ran[student.version], student.id)
        book.put_evidence(replace(mine, submission_sha256=sha256), "bench")


def corrected(release: Release, problem: str) -> Release:
    """The release with other points for the parts of one problem."""
    old = release.problems[problem]
    parts = tuple(replace(part, points=part.points + 1) for part in old.parts)
    return replace(
        release,
        id="corrected",
        problems={**release.problems, problem: replace(old, parts=parts)},
        digests={**release.digests, problem: "corrected"},
    )


def measure(book: Gradebook, release: Release, correct: str) -> list[dict[str, object]]:
    """A line for each way of scoring."""
    work = [(one.student, one.sha256) for one in book.submissions()]
    keep = Pins(book, release.id)
    bare, kept = Papers(release=release), Papers(release=release, keep=keep)
    fixed = Papers(release=release, correction=corrected(release, correct), keep=keep)

    def anew(papers: Papers) -> Iterator[Grade | None]:
        for student, sha256 in work:
            found = book.evidence(sha256)
            yield score_safely(papers.of(student), found) if found else None

    def again(papers: Papers) -> Iterator[Grade | None]:
        return (grade for _, grade in rescore_evidence(book, papers, work))

    ways = [
        ("nothing kept", anew(bare)),
        ("cases kept", anew(kept)),
        (f"one problem corrected ({correct})", again(fixed)),
        ("all kept", again(kept)),
    ]
    list(again(kept))  # keeps everything, and loads what all ways need
    book.set_setting("bench", 1)  # writes what was kept
    kept._recent.clear()
    rows = []
    for name, way in ways:
        began = time.process_time()
        marks = sum(len(grade.marks) for grade in way if grade is not None)
        seconds = time.process_time() - began
        rows.append({
            "way": name, "submissions": len(work), "submissions_a_second": len(work) / seconds,
            "marks_a_second": marks / seconds,
        })  # fmt: skip
        print(
            f"  {name:40} {len(work) / seconds:8.0f} submissions/s {marks / seconds:8.0f} marks/s",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=8)
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--set", default="lab")
    parser.add_argument("--correct", default="clip-gradients", help="a problem of the set")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    bank = Bank.open()
    group = tuple(
        Student(id=f"s{variant}x{copy}", version=f"v{variant}")
        for variant in range(chosen.variants)
        for copy in range(chosen.copies)
    )
    release = new_release(bank, bank.exam(chosen.set), group, b"k" * 32)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        Gradebook.open(Path(folder) / "results", create=True) as book,
    ):
        fill(book, release)
        print(f"set '{chosen.set}', {len(group)} submissions, one core:", flush=True)
        rows = measure(book, release, chosen.correct)
    chosen.out.mkdir(parents=True, exist_ok=True)
    found = {"machine": machine.describe(), "set": chosen.set, "rows": rows}
    (chosen.out / FILE).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
