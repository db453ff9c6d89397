"""Exams on paper: what is printed, what is typed back in, and what it earns."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.cli import main
from grader.draw import draw, sample_seed
from grader.errors import GraderError, SetupError
from grader.gradebook import Gradebook
from grader.grading.course_change import change_course
from grader.grading.manual import give_points
from grader.grading.rescoring import Rescoring, rescore
from grader.grading.sources import rows_of, source_of
from grader.integrations.paper.entry import enter_answers, evidence_of
from grader.integrations.paper.printing import (
    answerable_on_paper,
    check_code,
    place_of,
    print_exam,
    printed_exam,
)
from grader.integrations.paper.typed import TypedRow
from grader.kinds import kinds
from grader.kinds.plan import PlanKey
from grader.model import Key, Paper, Release, Slot, Student
from grader.model.course import AttemptPolicy, Course, CourseSet
from grader.model.printed import AnswerForm, PrintedExam
from grader.release.file import load_release
from grader.release.papers import Papers

PROBLEM = """\
id: {id}
title: A problem with <b>{id}</b> & more
family: foundations
parameters:
  n: {{integer: [3, 900], unit: GB, label: "Size $n$"}}
assumptions: ["1 GB = $10^9$ bytes."]
prompt: |
  There are {{{{ n }}}} and `x < 1 & y`.
parts:
"""
PARTS = {
    "numeric": """\
  - {id: size, kind: numeric, ask: How much is twice that?, points: 2, unit: GB, answer: 2 * n,
     mistakes: [{id: once, value: n, feedback: "That is once.", credit: 0.25}]}
""",
    "integer": "  - {id: count, kind: integer, ask: How many?, answer: n / GB + 1}\n",
    "choice": """\
  - id: chosen
    kind: choice
    ask: Which?
    options:
      - {text: right one, correct: true}
      - {text: wrong one, feedback: "Not that."}
      - {text: other one}
""",
    "multi_choice": """\
  - id: several
    kind: multi_choice
    ask: Which hold?
    rule: each-option
    options: [{text: first, correct: true}, {text: second, correct: true}, {text: third}]
""",
    "true_false": "  - {id: claim, kind: true_false, ask: It grows., answer: n > 0 * GB}\n",
    "ordering": """\
  - id: order
    kind: ordering
    ask: Sort.
    items: [{id: a, text: one}, {id: b, text: two}, {id: c, text: three}]
    order: [[a, b, c]]
""",
    "matching": """\
  - id: pairs
    kind: matching
    ask: Match.
    items: [{id: i, text: up, match: s}, {id: j, text: down, match: t}]
    targets: [{id: s, text: sky}, {id: t, text: earth}, {id: u, text: sea}]
""",
    "table": """\
  - id: grid
    kind: table
    ask: Fill in.
    points: 4
    row: batch
    rows: [1, 8]
    columns:
      - {id: m, title: "Memory $M$", unit: GB, answer: batch * n}
      - {id: k, title: Tokens, answer: batch * 100}
""",
    "short_text": """\
  - {id: word, kind: short_text, ask: In a word?, accept: [fork, forking]}
""",
    "explanation": """\
  - {id: why, kind: explanation, ask: Why?, points: 3, rubric: "One point for each cause."}
""",
}


def a_bank(folder: Path, **problems: str) -> Bank:
    """A bank with a set `exam` of all these problems, by id with the text of their parts."""
    for name, parts in problems.items():
        path = folder / "problems" / "foundations" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PROBLEM.format(id=name) + parts)
    listed = "".join(f"  - {name}\n" for name in problems)
    (folder / "problems" / "sets").mkdir(parents=True, exist_ok=True)
    head = "id: exam\ntitle: Paper & pen\nminutes: 45\ninstructions: |\n  No *calculators*.\n"
    (folder / "problems" / "sets" / "exam.yaml").write_text(f"{head}problems:\n{listed}")
    return Bank.open((str(folder),))


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return a_bank(tmp_path / "bank", every="".join(PARTS.values()), single=PARTS["numeric"])


def made(bank: Bank, out: Path, **changes: Any) -> Release:
    fields: dict[str, Any] = {"versions": 3, "private_key": "t", **changes}
    return print_exam(bank, "exam", fields.pop("versions"), out, **fields).release


def typed(name: str, key: Key) -> dict[str, str]:
    """The right answer as somebody would type it in from paper."""
    right: Any = kinds.find(key.part.kind).answer(key)
    match key.part.kind:
        case "numeric" | "integer":
            return {name: f"{right!r} {getattr(key.part, 'unit', '')}".strip()}
        case "table":
            cells = [list(row) for row in right.values()]
            return {
                f"{name}.{i}.{j}": repr(value)
                for i, row in enumerate(cells, 1)
                for j, value in enumerate(row, 1)
            }
        case "multi_choice":
            return {name: ", ".join(right) or "none"}
        case "ordering":
            return {name: " ".join(right)}
        case "matching":
            return {name: " ".join(f"{number}{letter}" for number, letter in right.items())}
        case "explanation":
            return {f"{name}.points": "1.5"}
    return {name: str(right)}


def solved(paper: Paper) -> dict[str, str]:
    return {k: v for name, key in paper.named_keys() for k, v in typed(name, key).items()}


def write_sheet(path: Path, folder: Path, *rows: Mapping[str, str]) -> Path:
    """The sheet in *folder* with *rows* typed in."""
    with (folder / "answers.csv").open(newline="", encoding="utf-8-sig") as file:
        head = next(csv.reader(file))
    text = io.StringIO()
    writer = csv.DictWriter(text, head)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), newline="")
    return path


def points_of(out: Path, student: str) -> dict[str, Any]:
    data = json.loads((out / "grades" / f"{student}.json").read_text())
    return {mark["name"]: mark["points"] for mark in data["marks"]}


def command(*arguments: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == code, arguments


# What is printed


class Strict(HTMLParser):
    """Fails on tags that don't close; keeps the text."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "input"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def page(path: Path) -> Strict:
    parser = Strict()
    parser.feed(path.read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []
    assert not parser.tags & {"script", "img", "iframe", "link", "object"}
    return parser


def test_every_version_has_an_exam_and_a_key(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()} - {".gitignore"}
    versions = {f"{what}-{letter}.html" for what in ("exam", "key") for letter in "ABC"}
    assert names == versions | {"answers.csv", "release.json"}
    assert list(release.students) == ["A", "B", "C"]
    for letter in "ABC":
        found = page(tmp_path / "out" / f"exam-{letter}.html")
        assert f"Version {letter} {check_code(release.id, letter)}" in found.text
        assert "<b>every</b> & more" in found.text
        assert "b" in found.tags  # of ours
        assert "math" in found.tags
        assert "45 minutes" in found.text
        assert "Signature" in found.text
    if os.name == "posix":
        for path in (tmp_path / "out").glob("key-*"):
            assert path.stat().st_mode & 0o077 == 0
    assert len({check_code(release.id, letter) for letter in "ABC"}) == 3


def test_nothing_of_the_key_is_on_an_exam(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    for letter in "ABC":
        exam = (tmp_path / "out" / f"exam-{letter}.html").read_text()
        key = (tmp_path / "out" / f"key-{letter}.html").read_text()
        paper = Papers(release=release).of(letter)
        number = f"{dict(paper.named_keys())['q1_size'].value:g} GB"  # type: ignore[attr-defined]
        for secret in (
            number,
            "That is once.",
            "One point for each cause",
            "forking",
            "accepted from",
        ):
            assert secret in key, secret
            assert secret not in exam, secret


def test_boxes_are_of_the_answers_kind(bank: Bank, tmp_path: Path) -> None:
    exam = printed_exam(Papers(release=made(bank, tmp_path / "out")).of("A"))
    forms = {place.name.partition("_")[2]: place.form for place in exam.places}
    assert forms == {
        "size": AnswerForm.LINE,
        "count": AnswerForm.LINE,
        "chosen": AnswerForm.LETTER,
        "several": AnswerForm.LETTERS,
        "claim": AnswerForm.TRUTH,
        "order": AnswerForm.ORDER,
        "pairs": AnswerForm.PAIRS,
        "grid": AnswerForm.GRID,
        "word": AnswerForm.LINE,
        "why": AnswerForm.TEXT,
    }
    text = (tmp_path / "out" / "exam-A.html").read_text()
    assert text.count('class="cell"') == 1 + 3 + 2
    assert text.count('class="tick"') == 2
    assert re.findall(r"<small>(\d\.\d)</small>", text) == ["1.1", "1.2", "2.1", "2.2"]
    assert "each option counts" in text


def test_the_same_key_prints_the_same_files(bank: Bank, tmp_path: Path) -> None:
    made(bank, tmp_path / "one")
    made(bank, tmp_path / "two")
    made(bank, tmp_path / "other", private_key="u")
    texts = [
        {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()}
        for name in ("one", "two", "other")
    ]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0]["exam-A.html"] != texts[0]["exam-B.html"]


def test_the_sheet_has_a_column_for_every_place_and_a_line_for_every_student(
    bank: Bank, tmp_path: Path
) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text('id,name\nada,"Lovelace, Ada"\n=1+1,Evil\n')
    out = tmp_path / "out"
    bank_option = ("--bank", str(tmp_path / "bank"))
    arguments = ("--roster", str(roster), "--out", str(out), "--versions", "2", *bank_option)
    command("render", "exam", "--format", "html", *arguments)
    assert (out / "answers.csv").read_bytes().startswith(codecs.BOM_UTF8)
    with (out / "answers.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    assert rows[0][:6] == ["student", "name", "version", "check", "q1_size", "q1_count"]
    assert {"q1_grid.1.1", "q1_grid.2.2", "q1_why.points", "q2_size"} <= set(rows[0])
    assert [row[:3] for row in rows[1:]] == [["ada", "Lovelace, Ada", ""], ["'=1+1", "Evil", ""]]
    # Rendered again, what was typed in stays.
    (out / "answers.csv").write_text("student,version\nada,A\n")
    command("render", "exam", "--format", "html", *arguments)
    assert (out / "answers.csv").read_text() == "student,version\nada,A\n"


def test_parts_that_need_a_computer_are_refused_by_name(tmp_path: Path, capsys: Any) -> None:
    command("render", "lab", "--format", "html", "--out", str(tmp_path / "out"), code=2)
    error = capsys.readouterr().err
    for part in ("online-softmax/row_stats (code)", "fuse-the-reduction/standardize (measurement)"):
        assert part in error
    assert "predict-a-product/flops (prediction)" in error
    assert "--leave-out" in error
    assert not (tmp_path / "out").exists()
    arguments = ("--out", str(tmp_path / "out"), "--leave-out", "--versions", "1")
    command("render", "lab", "--format", "html", *arguments)
    assert "predict-a-product/flops (prediction)" in capsys.readouterr().err
    places = printed_exam(Papers(release=load_release(tmp_path / "out")).of("A")).places
    assert places
    assert not any("row_stats" in place.name for place in places)


def test_a_release_of_notebooks_is_not_printed(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    command("render", "lab", "--student", "ada", "--out", str(out))
    before = (out / "release.json").read_bytes()
    arguments = ("--out", str(out), "--leave-out", "--versions", "1")
    command("render", "lab", "--format", "html", *arguments, code=2)
    assert "has parts that need a computer" in capsys.readouterr().err
    assert {path.name for path in out.iterdir()} == {".gitignore", "release.json", "notebooks"}
    assert (out / "release.json").read_bytes() == before


def test_what_a_person_reads_is_noted_for_every_version(tmp_path: Path) -> None:
    whys = {name: PARTS["explanation"].replace("id: why", f"id: {name}") for name in ("one", "two")}
    bank = a_bank(tmp_path / "bank", **whys)
    path = tmp_path / "bank" / "problems" / "sets" / "exam.yaml"
    path.write_text(path.read_text().replace("  - one\n  - two\n", "  - pool: [one, two]\n"))
    bank = Bank.open((str(tmp_path / "bank"),))
    done = print_exam(bank, "exam", 8, tmp_path / "out", private_key="t")
    (note,) = (note for note in done.notes if "grade manually" in note)
    assert set(note.partition(": ")[2].split(", ")) == {"q1_one", "q1_two"}


def test_points_go_with_the_parts_that_are_left_out() -> None:
    bank = Bank.open(())
    lab = bank.exam("lab")
    slot = next(s for s in lab.slots if s.problem == "predict-a-product")
    worth = replace(lab, problems=(replace(slot, points=8.0),))
    own = {part.id: part.points for part in bank.problem("predict-a-product").parts}
    kinds_of = {part.id: part.kind for part in bank.problem("predict-a-product").parts}
    kept = {i for i in own if kinds_of[i] not in ("code", "measurement", "prediction")}
    with pytest.raises(SetupError, match="need a computer"):
        answerable_on_paper(worth, bank, leave_out=False)
    exam, notes = answerable_on_paper(worth, bank, leave_out=True)
    assert set(exam.slots[0].parts) == kept
    share = sum(own[i] for i in kept) / sum(own.values())
    assert exam.slots[0].points == pytest.approx(8 * share)
    assert len(notes) == 1


def test_a_question_about_a_part_that_is_left_out_is_left_out_too() -> None:
    bank = Bank.open(())
    exam = replace(bank.exam("lab"), problems=(Slot(problem="chunked-attention"),))
    paper_exam, (note,) = answerable_on_paper(exam, bank, leave_out=True)
    assert "chunked-attention/fewest_chunks (mentions 'peak')" in note
    assert not {"peak", "fewest_chunks"} & set(paper_exam.slots[0].parts)


def test_a_plan_has_a_box_for_each_choice() -> None:
    bank = Bank.open(())
    variant = draw(bank.problem("input-pipeline-bottleneck"), sample_seed("paper", 3), bank.facts)
    key = variant.keys["machine"]
    assert isinstance(key, PlanKey)
    place = place_of("q1_machine", key)
    assert place.names == tuple(f"q1_machine.{n}.1" for n in range(1, len(key.part.choose) + 1))
    typed = dict(zip(place.names, (str(v) for v in key.best[0].values()), strict=True))
    row = TypedRow(student=Student(id="ada"), version="A", answers=typed)
    kind = kinds.find("plan")
    raw = evidence_of(row, (place,), "0" * 64).answers["q1_machine"].raw
    assert raw is not None
    assert kind.judge(kind.read(raw, key), key).share == 1
    empty = evidence_of(replace(row, answers={}), (place,), "0" * 64)
    assert empty.answers["q1_machine"].absent == "the box on paper is empty"


# What comes back


def test_right_answers_earn_everything_on_every_version(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    papers = Papers(release=release)
    rows = [
        {"student": f"s{v}", "name": f"Student {v}", "version": v.lower(), **solved(papers.of(v))}
        for v in release.students
    ]
    sheet = write_sheet(tmp_path / "typed.csv", tmp_path / "out", *rows)
    results = tmp_path / "results"
    arguments = (str(sheet), "--release", str(tmp_path / "out" / "release.json"))
    command("enter", *arguments, "--out", str(results), "--bank", str(tmp_path / "bank"))
    for version in release.students:
        earned = points_of(results, f"s{version}")
        worth = {
            q.name(part): points
            for q in papers.of(version).questions
            for part, points in q.points.items()
        }
        assert earned == {**worth, "q1_why": 1.5}
    assert {p.name for p in results.iterdir()} >= {"grades.csv", "grades", "feedback", "report"}
    feedback = (results / "feedback" / "sB.html").read_text()
    assert "Student B" in feedback
    assert "code cells ran" not in feedback
    assert "notebooks ran" not in (results / "report" / "index.html").read_text()


def entered(bank: Bank, folder: Path, *rows: Mapping[str, str]) -> tuple[Path, Any]:
    if not (folder / "out").exists():
        made(bank, folder / "out")
    sheet = write_sheet(folder / "typed.csv", folder / "out", *rows)
    return folder / "results", enter_answers(sheet, folder / "out", folder / "results")


def grades(results: Path) -> dict[str, dict[str, Any]]:
    with Gradebook.open(results) as book:
        return {g.student: {m.name: m for m in g.marks} for g in book.grades()}


def test_answers_are_read_as_people_write_them(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    keys = dict(Papers(release=release).of("A").named_keys())
    right: Any = {name: kinds.find(key.part.kind).answer(key) for name, key in keys.items()}
    row = {
        "student": "ada",
        "version": "A",
        "q1_size": f"{right['q1_size'] * 1000} MB",
        "q1_chosen": f"({right['q1_chosen'].lower()})",
        "q1_several": "".join(right["q1_several"]),
        "q1_claim": "T",
        "q1_order": " > ".join(right["q1_order"]),
        "q1_pairs": f"1{right['q1_pairs'][1]}",
        "q1_grid.1.1": f"{right['q1_grid']['1'][0]} GB",
        "q1_grid.2.2": "rubbish",
        "q1_word": "Forking.",
        "q2_size": str(right["q2_size"] / 2),
    }
    results, done = entered(bank, tmp_path, row)
    marks = grades(results)["ada"]
    earned = {name: mark.points for name, mark in marks.items()}
    assert earned == {
        "q1_size": 2, "q1_count": 0, "q1_chosen": 1, "q1_several": 1, "q1_claim": 1, "q1_order": 1,
        "q1_pairs": 0.5, "q1_grid": 1, "q1_word": 1, "q1_why": None, "q2_size": 0.5,
    }  # fmt: skip
    assert marks["q2_size"].mistake == "once"
    assert marks["q1_count"].verdict.value == "absent"
    assert "box on paper is empty" in marks["q1_count"].feedback
    assert done.open == 1
    assert done.unreadable == ()


REASONED = """\
  - id: claim
    kind: true_false
    ask: It grows.
    answer: n > 0 * GB
    reasons:
      - {id: more, text: There is more of it., correct: true}
      - {id: same, text: There is as much of it., feedback: "Not quite."}
      - {id: less, text: There is less of it.}
"""


def test_a_reason_is_a_letter_next_to_true_and_false(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank", every=REASONED, single=PARTS["numeric"])
    release = made(bank, tmp_path / "out")
    paper = Papers(release=release).of("A")
    key = dict(paper.named_keys())["q1_claim"]
    letters = {choice.id: choice.letter for choice in key.choices}  # type: ignore[attr-defined]
    exam = (tmp_path / "out" / "exam-A.html").read_text()
    assert (exam.count("<b>Reason</b>"), exam.count('class="cell"')) == (1, 1)
    text = (tmp_path / "out" / "key-A.html").read_text()
    assert f"True, {letters['same']}" in text
    rows = [
        {"student": name, "version": "A", "q1_claim": written}
        for name, written in (
            ("ada", f"T {letters['more']}"),
            ("bo", f"true, {letters['same'].lower()}"),
            ("cy", f"F {letters['more']}"),
            ("di", "T"),
        )
    ]
    results, done = entered(bank, tmp_path, *rows)
    points = {student: marks["q1_claim"].points for student, marks in grades(results).items()}
    assert points == {"ada": 1, "bo": 0.5, "cy": 0, "di": 0.5}
    assert done.unreadable == ()


def test_what_a_person_reads_is_open_until_points_are_typed(bank: Bank, tmp_path: Path) -> None:
    ada = {"student": "ada", "version": "A"}
    _, done = entered(bank, tmp_path, ada)
    assert done.open == 1
    results, done = entered(bank, tmp_path, {**ada, "q1_why.points": "0"})
    assert done.open == 0
    with Gradebook.open(results) as book:
        assert [(o.student, o.name, o.points) for o in book.overrides()] == [("ada", "q1_why", 0.0)]
    entered(bank, tmp_path, {**ada, "q1_why.points": "1,5"})  # as many spreadsheets write it
    with Gradebook.open(results) as book:
        assert [o.points for o in book.overrides()] == [1.5]


def test_entered_again_only_what_changed_is_scored(bank: Bank, tmp_path: Path) -> None:
    rows = [{"student": name, "version": "B", "q1_claim": "no"} for name in ("ada", "bo")]
    results, done = entered(bank, tmp_path, *rows, {"student": "gone"})
    assert (done.scored_count, done.kept_count, done.absent) == (2, 0, ("gone",))
    rows[1]["q1_claim"] = "yes"
    results, done = entered(bank, tmp_path, *rows)
    assert (done.scored_count, done.kept_count) == (1, 1)
    found = grades(results)
    assert (found["ada"]["q1_claim"].points, found["bo"]["q1_claim"].points) == (0, 1)
    # Another version is another paper.
    rows[1]["version"] = "C"
    results, done = entered(bank, tmp_path, *rows)
    assert (done.scored_count, done.kept_count) == (1, 1)
    with Gradebook.open(results) as book:
        assert len(book.history("bo")) == 3


@pytest.mark.parametrize(
    "policy",
    [AttemptPolicy(limit=1), AttemptPolicy(deduct=0.5), AttemptPolicy(count="mean")],
)
@pytest.mark.parametrize("of_set", [False, True])
def test_a_line_that_is_typed_again_is_no_further_attempt(
    bank: Bank, tmp_path: Path, policy: AttemptPolicy, of_set: bool
) -> None:
    ada = {"student": "ada", "version": "B", "q1_why.points": "0"}
    results, _ = entered(bank, tmp_path, {**ada, "q1_claim": "no"})
    with Gradebook.open(results) as book:
        exam = source_of(book).exam
    sets = {exam: CourseSet(attempts=policy if of_set else None)}
    usual = AttemptPolicy() if of_set else policy
    course = Course(id="systems", attempts=usual, sets=sets)
    assert change_course(results, course, {}, dry_run=False) == ()
    entered(bank, tmp_path, {**ada, "q1_claim": "yes"})
    assert standings(results) == {"ada": ("graded", 1, True)}


def standings(results: Path) -> dict[str, tuple[str, float, bool]]:
    with Gradebook.open(results) as book:
        rows = rows_of(book, source_of(book))
        return {row.student.id: (row.standing.value, row.score, row.complete) for row in rows}


def test_points_that_are_taken_off_the_sheet_are_open_again(bank: Bank, tmp_path: Path) -> None:
    ada = {"student": "ada", "version": "A"}
    results, _ = entered(bank, tmp_path, {**ada, "q1_why.points": "2"})
    assert standings(results) == {"ada": ("graded", 2, True)}
    results, done = entered(bank, tmp_path, ada)
    assert standings(results) == {"ada": ("graded", 0, False)}
    assert done.open == 1


def test_marks_by_hand_stay_until_the_sheet_says_something_new(bank: Bank, tmp_path: Path) -> None:
    ada = {"student": "ada", "version": "A", "q1_why.points": "1"}
    results, _ = entered(bank, tmp_path, ada)
    give_points(results, "ada", "q1_why", 3, by="jo", why="Read again.")
    entered(bank, tmp_path, ada)
    assert standings(results)["ada"][1] == 3
    entered(bank, tmp_path, {"student": "ada", "version": "A"})
    assert standings(results)["ada"][1] == 3
    entered(bank, tmp_path, {**ada, "q1_why.points": "2"})
    assert standings(results)["ada"][1] == 2


def test_a_line_that_is_emptied_is_of_somebody_who_did_not_come(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    right = {**solved(Papers(release=release).of("A")), "version": "A"}
    results, _ = entered(bank, tmp_path, {"student": "ada", **right}, {"student": "bo"})
    worth = standings(results)["ada"][1]
    assert worth > 10
    # It was another student's: the answers go to where they belong.
    results, done = entered(bank, tmp_path, {"student": "ada"}, {"student": "bo", **right})
    assert done.absent == ("ada",)
    assert standings(results) == {
        "ada": ("no submission", 0, False), "bo": ("graded", worth, True),
    }  # fmt: skip
    assert rescore(results, current=bank).scored_count == 1
    with Gradebook.open(results) as book:
        assert len(book.history("ada")) == 1
        assert {o.student for o in book.overrides()} == {"bo"}
    entered(bank, tmp_path, {"student": "ada", **right})
    assert standings(results)["ada"] == ("graded", worth, True)


@pytest.mark.parametrize("name", ["'t Hooft, Gerard", "=1+1", "-x", "'", "O'Neil"])
def test_names_come_back_from_the_sheet_as_they_were(bank: Bank, tmp_path: Path, name: str) -> None:
    made(bank, tmp_path / "out", students=(Student(id="ada", name=name, version="A"),))
    enter_answers(tmp_path / "out" / "answers.csv", tmp_path / "out", tmp_path / "results")
    with Gradebook.open(tmp_path / "results") as book:
        assert book.students()["ada"].name == name


def test_a_corrected_key_regrades_paper_too(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    papers = Papers(release=release)
    rows = [
        {"student": f"s{v}", "version": v, **solved(papers.of(v)), "q1_claim": "False"}
        for v in release.students
    ]
    results, _ = entered(bank, tmp_path, *rows)
    path = tmp_path / "bank" / "problems" / "foundations" / "every.yaml"
    path.write_text(path.read_text().replace("answer: n > 0 * GB", "answer: n < 0 * GB"))
    current = Bank.open((str(tmp_path / "bank"),))
    dry: Rescoring = rescore(results, current=current, dry_run=True)
    changed = {(one.after.student.id, mark.name) for one in dry.changes for mark in one.marks}
    assert changed == {(f"s{version}", "q1_claim") for version in "ABC"}
    rescore(results, current=current)
    assert {marks["q1_claim"].points for marks in grades(results).values()} == {1}
    rescore(results, released=True)
    assert {marks["q1_claim"].points for marks in grades(results).values()} == {0}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"student": "ada", "version": "Z"}, "no version 'Z'"),
        ({"student": "ada", "version": "A", "check": "NOPE"}, "check code of version A"),
        ({"student": "ada", "q1_size": "3"}, "version is missing"),
        ({"student": "", "version": "A", "q1_size": "3"}, "no id"),
        ({"student": "../ada", "version": "A"}, "can't be a file name"),
        ({"student": "ada", "version": "A", "q1_why.points": "4"}, "not a number from 0 to 3"),
        ({"student": "ada", "version": "A", "q1_why.points": "nan"}, "not a number from 0 to 3"),
        ({"student": "ada", "version": "A", "q1_why.points": "good"}, "not a number from 0 to 3"),
    ],
)
def test_lines_that_can_not_be_right_are_named(
    bank: Bank, tmp_path: Path, row: dict[str, str], said: str
) -> None:
    with pytest.raises(GraderError, match=r"typed\.csv:3: .*" + re.escape(said)):
        entered(bank, tmp_path, {"student": "bo", "version": "B"}, row)
    assert not (tmp_path / "results").exists()


def test_the_right_check_code_is_taken_in_any_case(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    code = check_code(release.id, "B").lower()
    _, done = entered(bank, tmp_path, {"student": "ada", "version": "b", "check": code})
    assert done.scored_count == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("student,version,q9_size\nada,A,1\n", "no version asks for 'q9_size'"),
        ("student,q1_size\nada,1\n", "no column 'version'"),
        ("student,version,version\nada,A,A\n", "twice"),
        ("student,version\nada,A\nada,B\n", "the id 'ada' is used twice"),
        ("student,version\nada,A\nADA,B\n", "'ada' and 'ADA' differ only in case"),
        ("student,version\nada,A,3\n", "more cells"),
        ("student,version\n", "the sheet has no students"),
        ("", "no column 'student'"),
        ('student,version,name\nada,A,"Ada\nbo,B,Bo\n', "not CSV"),
    ],
)
def test_sheets_that_can_not_be_read_say_why(
    bank: Bank, tmp_path: Path, text: str, said: str
) -> None:
    made(bank, tmp_path / "out")
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(GraderError, match=re.escape(said)):
        enter_answers(tmp_path / "s.csv", tmp_path / "out", tmp_path / "results")


def test_semicolons_and_a_byte_order_mark_are_read(bank: Bank, tmp_path: Path) -> None:
    made(bank, tmp_path / "out")
    (tmp_path / "s.csv").write_bytes(b"\xef\xbb\xbfstudent;version;q1_claim\r\nada;A;true\r\n")
    enter_answers(tmp_path / "s.csv", tmp_path / "out", tmp_path / "results")
    assert grades(tmp_path / "results")["ada"]["q1_claim"].points == 1


HOSTILE = (
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "\x1b[2J",
    "9" * 5000,
    "1e999 GB",
    "𝟜𝟚",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_stands_on_paper_is_text(bank: Bank, tmp_path: Path, text: str) -> None:
    release = made(bank, tmp_path / "out")
    names = [
        n for place in printed_exam(Papers(release=release).of("A")).places for n in place.names
    ]
    row = {name: text for name in names if not name.endswith(".points")}
    results, _ = entered(bank, tmp_path, {"student": "ada", "version": "A", **row})
    assert all(mark.points in (0, None) for mark in grades(results)["ada"].values())


def test_results_of_notebooks_and_of_paper_do_not_mix(bank: Bank, tmp_path: Path) -> None:
    release = made(bank, tmp_path / "out")
    from grader.model import Submission
    from grader.release.papers import bind

    with Gradebook.open(tmp_path / "results", create=True) as book:
        bind(book, release, tmp_path / "out")
        book.add_students(release.students.values())
        book.add_submissions([Submission(student="A", path="A.ipynb", sha256="0" * 64)])
    with pytest.raises(SetupError, match="notebooks, not to a paper exam"):
        entered(bank, tmp_path, {"student": "ada", "version": "A"})


# With a real printer's engine


def pdf_of(chromium: str, source: Path, target: Path, size: str) -> bytes:
    sized = target.with_suffix(".html")
    page_rule = f"<style>@page {{ size: {size}; }}</style></head>"
    sized.write_text(source.read_text().replace("</head>", page_rule))
    subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
         f"--user-data-dir={target.parent / 'profile'}", f"--print-to-pdf={target}",
         sized.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return target.read_bytes()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_a_printed_version_has_its_letter_on_every_page(size: str, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    pypdfium2 = pytest.importorskip("pypdfium2")
    if chromium is None:
        pytest.skip("no Chromium")
    made_ = print_exam(Bank.open(()), "midterm", 1, tmp_path / "out", private_key="t")
    data = pdf_of(chromium, tmp_path / "out" / "exam-A.html", tmp_path / "exam.pdf", size)
    pages = [page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(data)]
    head = f"Version A {check_code(made_.release.id, 'A')}"
    exam: PrintedExam = printed_exam(Papers(release=made_.release).of("A"))
    assert len(pages) >= 6
    for number, text in enumerate(pages, start=1):
        assert head in " ".join(text.split())
        assert f"Page {number} of {len(pages)}" in text
    for place in exam.places:
        assert sum(place.name in text.split() for text in pages) == 1
    assert _widths(pypdfium2, data) == pytest.approx({"A4": 595, "Letter": 612}[size], abs=2)


def _widths(pypdfium2: Any, data: bytes) -> float:
    (width,) = {round(page.get_width()) for page in pypdfium2.PdfDocument(data)}
    return float(width)
