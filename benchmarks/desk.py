"""The times of the desk's pages for a large class in which a person decided every answer.

    python benchmarks/desk.py --students 600

makes a gradebook with forty parts, as many decisions as answers, and explanations in words that all
differ. It prints the median time of each page over HTTP in milliseconds: unchanged, and right after
another process has written to the gradebook.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import synthetic
from synthetic import forty_parts, students

from grader.bank.folders import Bank
from grader.gradebook import Gradebook
from grader.grading.score import score
from grader.model import Grade, Override
from grader.model.course import Course, GradingPlan, Role, StaffMember
from grader.model.desk import AnswerToDecide, Choice, PartId
from grader.release.papers import bind
from grader.release.rendering import make_release
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.desk import Reader, a_desk, signed_in

_WORDS = [
    "the",
    "lock",
    "waits",
    "for",
    "one",
    "thread",
    "because",
    "memory",
    "is",
    "shared",
    "and",
    "a",
    "copy",
    "moves",
    "over",
    "the",
    "bus",
]


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=600)
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results, part = make_gradebook(Path(folder), options.students)
        (Path(folder) / "bank").symlink_to(ROOT)
        people = {"k": Person(id="kim", role=Role.INSTRUCTOR)}
        for anonymous in (False, True):
            with a_desk(results, AccessLinks(people), anonymous=anonymous) as links:
                print("pseudonyms" if anonymous else "names")
                measure(signed_in(links["kim"]), results, part, options.repeat)
        staff = {id_: StaffMember() for id_ in ("gil", "hao", "ida", "kim")}
        plan = GradingPlan(divide="evenly", double=0.2, tolerance=0.1)
        course = Course(id="systems", staff=staff, grading=plan)
        home = Path(folder) / "shares"
        results, part = make_gradebook(home, options.students, waiting=10)
        (home / "bank").symlink_to(ROOT)
        with a_desk(results, AccessLinks(people), course=course) as links:
            print("shares, with ten parts that wait")
            measure(signed_in(links["kim"]), results, part, options.repeat)


def make_gradebook(home: Path, size: int, waiting: int = 0) -> tuple[Path, PartId]:
    """Makes a gradebook; returns its folder and a part whose answers all differ. Of *waiting*
    parts, no answer has points."""
    home.mkdir(exist_ok=True)
    class_ = tuple(replace(one, name=f"Student {one.id}") for one in students(size))
    exam, folder = str(forty_parts(home)), home / "release"
    release = make_release(Bank.open(), exam, class_, folder, "benchmark").release
    out, dice = home / "results", random.Random(1)
    with Gradebook.open(out, create=True) as book:
        bind(book, release, folder)
        book.add_students(release.students.values())
        book.add_submissions(synthetic.submission(s) for s in release.students)
        grades = [
            _in_words(score(mine, synthetic.evidence(mine)), dice, max(waiting, 1), bool(waiting))
            for _, mine in synthetic.papers(release)
        ]
        book.put_grades(grades, why="synthetic")
        for count in book.answers.counts()[waiting:]:
            answers = [
                AnswerToDecide(
                    student=one.student, name=one.name, max_points=one.max_points,
                    engine_points=one.points, last_decision=0,
                )
                for one in book.answers.of_part(count.part)
            ]  # fmt: skip
            book.decisions.decide(answers, Choice(points=0.0, comment="As stated."), by="kim")
        return out, book.answers.counts()[0].part


def _in_words(grade: Grade, dice: random.Random, count: int, wait: bool) -> Grade:
    """Returns *grade* with words of the student's own as the answers to the first parts."""
    words = [" ".join(dice.choices(_WORDS, k=30)) for _ in range(count)]
    marks = zip(grade.marks[:count], words, strict=True)
    written = (
        replace(mark, answer=text, points=None if wait else mark.points) for mark, text in marks
    )
    return replace(grade, marks=(*written, *grade.marks[count:]))


def measure(reader: Reader, results: Path, part: PartId, repeat: int) -> None:
    """Prints the times of the pages that *reader* opens."""
    someone = reader.get("/students")[1].split('href="/student/')[1].split('"')[0]
    pages = (
        "/", "/students", f"/student/{someone}", f"/part/{part.problem}/{part.part}",
        f"/part/{part.problem}/{part.part}?group=5", f"/student/{someone}/code",
        f"/student/{someone}/attempts", "/requests", "/agreement", "/audit", "/audit?page=9",
        "/audit?q=kim",
    )  # fmt: skip
    print(f"  {'page':<45}{'unchanged':>10}{'changed':>10}{'KiB':>8}")
    for page in pages:
        reader.get(page)
        unchanged = statistics.median(_seconds(reader, page) for _ in range(repeat))
        changed, size = [], len(reader.get(page)[1])
        for number in range(repeat):
            _write(results, number)
            changed.append(_seconds(reader, page))
        times = f"{1000 * unchanged:10.0f}{1000 * statistics.median(changed):10.0f}"
        print(f"  {page:<45}{times}{size / 1024:8.0f}")


def _seconds(reader: Reader, page: str) -> float:
    start = time.perf_counter()
    status, _ = reader.get(page)
    assert status == 200, page
    return time.perf_counter() - start


def _write(results: Path, number: int) -> None:
    with Gradebook.open(results) as book:
        student = sorted(book.students())[0]
        grade = book.grade(student)
        assert grade is not None
        override = Override(
            student=student, name=grade.marks[1].name, points=0.0, reason=f"no. {number}", by="gil",
            at="2026-01-01T00:00:00Z",
        )  # fmt: skip
        book.put_overrides([override])


if __name__ == "__main__":
    main()
