"""Limits of the grader's own: just below one the verdict is the usual, just above the mark is open.

No limit of ours may end in a zero, because a student can't know it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.collect import BEST, collect
from grader.gradebook.evidence import evidence_from_json, evidence_to_json
from grader.gradebook.evidence_files import limit_size
from grader.grading.score import has_fault, score
from grader.integrations.nbgrader import marks
from grader.integrations.nbgrader.collecting import collect_assignment
from grader.kinds import BeyondLimit, Unreadable, kinds, short_text
from grader.kinds.code import CodeKind
from grader.kinds.hidden.source import FAILED_BEFORE
from grader.model import Answer, Judgment, Mark, Student, Submission, Verdict
from grader.model.evidence import CUT_SHORT
from grader.notebook import Notebook
from grader.runtime.execute import calls
from grader.runtime.kernels import ask
from grader.units import MAX_LENGTH
from grader.wire import encoding
from tests.helpers.code import a_code_key
from tests.helpers.kinds import a_key, a_short_text, a_table, an_explanation
from tests.helpers.notebooks import a_notebook
from tests.helpers.scores import a_paper, evidence, graded

OPEN = "no points are deducted"


def is_open(mark: Mark) -> bool:
    """Whether a person decides, and the student reads why."""
    return mark.points is None and mark.verdict is Verdict.UNSETTLED and OPEN in mark.feedback


def a_number_of(length: int) -> str:
    return "1.75".ljust(length - 3, "0") + " GB"


def test_a_number_of_hundreds_of_digits_is_read_and_of_more_left_open() -> None:
    assert graded(share=a_number_of(MAX_LENGTH))["share"].points == 2
    beyond = graded(share=a_number_of(MAX_LENGTH + 1))["share"]
    assert is_open(beyond)
    assert (
        "1,001 characters or more, and at most 1,000 are read; give a number in GB."
        in beyond.feedback
    )
    assert is_open(graded(share="1.75".ljust(2 * encoding.MAX_TEXT, "0"))["share"])


def test_space_around_and_in_a_number_counts_for_nothing() -> None:
    assert graded(share=" " * 4_000 + "1.75" + " " * 4_000 + "GB")["share"].points == 2


def test_what_is_no_number_is_unreadable_however_long() -> None:
    for times in (5, 500, 5_000):
        words = "it is 1.75 GB as " * times
        assert graded(share=words)["share"].verdict is Verdict.UNREADABLE


def test_a_container_is_no_number_and_no_letter_however_large() -> None:
    for part in ("share", "time", "fits"):
        answers: dict[str, Any] = {part: [1.75] * (encoding.ANSWER.items + 1)}
        marks = graded(**answers)
        assert marks[part].verdict is Verdict.UNREADABLE
        assert "too large to be read" in marks[part].feedback
    assert graded(fits="A" + " " * encoding.MAX_TEXT + "B")["fits"].verdict is Verdict.UNREADABLE


@pytest.mark.parametrize(("room", "fits"), [(200, True), (60, False)])
def test_what_other_answers_left_no_room_for_is_left_open(
    monkeypatch: pytest.MonkeyPatch, room: int, *, fits: bool
) -> None:
    monkeypatch.setattr(encoding, "MAX_ANSWERS", room)
    names = {"q1_first": "x" * 20, "q1_share": 1.75}
    said = ask.parse_values(tuple(names), {"said": encoding.encode_answers(names, names)})
    found = replace(
        evidence(), answers={"q1_share": Answer(name="q1_share", raw=said.values["q1_share"])}
    )
    mark = next(m for m in score(a_paper(), found).marks if m.part == "share")
    assert mark.points == 2 if fits else is_open(mark)


def test_a_text_beyond_what_is_compared_is_left_open() -> None:
    key = a_key(a_short_text(accept=("(word ?)+",), match="regex", example="word"))
    kind = kinds.find("short_text")
    assert kind.read(encoding.encode_answer("w" * short_text.MAX_LENGTH), key)
    with pytest.raises(BeyondLimit, match="501 characters or more, and at most 500 are read"):
        kind.read(encoding.encode_answer("w" * (short_text.MAX_LENGTH + 1)), key)


def test_one_cell_beyond_a_limit_leaves_the_whole_table_open() -> None:
    key = a_key(a_table())
    kind = kinds.find("table")
    rows = [[cell.value for cell in row] for row in key.cells]
    rows[0][0] = "1." + "0" * (MAX_LENGTH - 2)
    assert kind.read(encoding.encode_answer(rows), key)[0][0] == 1
    rows[0][0] += "0"
    with pytest.raises(BeyondLimit):
        kind.read(encoding.encode_answer(rows), key)


def test_a_table_as_an_array_too_large_to_be_sent_is_left_open() -> None:
    key = a_key(a_table())
    raw = {"t": "array", "shape": [len(key.rows), 999], "dtype": "float64", "v": None}
    with pytest.raises(BeyondLimit):
        kinds.find("table").read(raw, key)
    with pytest.raises(Unreadable) as refusal:
        kinds.find("table").read({**raw, "shape": [len(key.rows) + 1, 999]}, key)
    assert not isinstance(refusal.value, BeyondLimit)


@pytest.mark.parametrize(
    "written", ["帯域幅が足りないからです。", "เพราะแบนด์วิดท์ไม่พอ", "one two three"]
)
def test_an_explanation_without_spaces_is_one(written: str) -> None:
    kind, key = kinds.find("explanation"), a_key(an_explanation())
    assert kind.read(encoding.encode_answer(written), key) == written


def test_an_answer_that_builds_on_one_left_open_is_left_open_if_it_may_earn_more() -> None:
    known = graded(share=1.75, time="9 ms")["time"]
    assert known.points == 0
    marks = graded(share=a_number_of(MAX_LENGTH + 1), time="9 ms")
    assert is_open(marks["time"])
    assert not any(mark.feedback.startswith("By a fault") for mark in marks.values())
    assert graded(share=a_number_of(MAX_LENGTH + 1), time="1.75 ms")["time"].points == 4


def test_evidence_cut_short_opens_the_marks_that_lose_points_and_no_others() -> None:
    found = evidence(time="1.75 ms", fits="B")
    why = "code cell 9 was not run because the kernel died too many times"
    cut = replace(found, environment={CUT_SHORT: dict.fromkeys(("q1_share", "q1_time"), why)})
    cut = evidence_from_json(evidence_to_json(cut))
    grade = score(a_paper(), cut)
    marks = {mark.part: mark for mark in grade.marks}
    assert is_open(marks["share"])
    assert f"{why}. A person will review it." in marks["share"].feedback
    assert marks["time"].points == 4
    assert is_open(marks["fits"])  # it builds on the first, and may earn more
    assert not has_fault(grade)  # to run it again would change nothing


def test_an_answer_too_large_to_be_kept_is_left_open() -> None:
    found = evidence(share="1" * 9_000, time="1.75 ms", fits="A")
    kept, data = limit_size(found, most=4_000)
    assert evidence_from_json(data) == kept
    marks = {mark.part: mark for mark in score(a_paper(), kept).marks}
    assert is_open(marks["share"])
    assert marks["time"].points == 4
    whole, _ = limit_size(found)
    assert next(iter(score(a_paper(), whole).marks)).points is None  # beyond what is read, too


CODE = a_code_key()
OF_ITS_GROUP = {"is": "unmade", "what": FAILED_BEFORE}
LATE = {"is": "late"}
STOPPED = {
    "late elsewhere": {"is": "unmade", "what": f"{calls.MOST_LATE} calls took too long"},
    "died elsewhere": {"is": "unmade", "what": "the kernel died too many times"},
    "no time": {"is": "unmade", "what": "the time for all calls was used up"},
    "no room": {"is": "unfit", "type": "", "what": encoding.TOO_MUCH},
    "states": {"is": "raised", "type": "TooManyStatesError", "what": "x"},
    "calls": {"is": "raised", "type": "RankHungError", "what": "rank 0 made more than 1000 calls"},
    "grid": {"is": "raised", "type": "LaunchError", "what": "99999 programs take too long here"},
    "keys": {"is": "returned", "v": {"t": "dict", "v": [[0, 0]] * 5_001}},
    "items": {"is": "returned", "v": {"t": "set", "v": [0] * 5_001}},
}


def with_random_cases(*, of: list[dict[str, Any]]) -> Judgment:
    """The judgment on right code of which the random cases came to what *of* gives in turn."""
    source = CODE.solution_functions.source("scaled", "scaled")
    raw: dict[str, Any] = dict(CodeKind().simulate_run(CODE, "scaled", source, "scaled"))
    groups = [case.group for case in CODE.cases]
    told = iter([*of, *[of[-1]] * len(groups)])
    raw["calls"] = [
        call if group == "edge" else {"call": call["call"], **next(told)}
        for call, group in zip(raw["calls"], groups, strict=True)
    ]
    kind = kinds.find("code")
    return kind.judge(kind.read(raw, CODE), CODE)


@pytest.mark.parametrize("outcome", STOPPED.values(), ids=STOPPED)
def test_calls_that_a_limit_kept_from_a_result_leave_the_mark_open(
    outcome: dict[str, Any],
) -> None:
    judgment = with_random_cases(of=[outcome])
    assert judgment.share is None
    assert judgment.verdict is Verdict.UNSETTLED
    assert "A person will review it." in judgment.note


def test_calls_skipped_because_their_group_had_failed_leave_nothing_open() -> None:
    judgment = with_random_cases(of=[LATE, OF_ITS_GROUP])
    assert judgment.share == 0.5
    assert "Random cases: a call took longer than 5 s." in judgment.note
    wrong = {"is": "raised", "type": "LaunchError", "what": "no grid"}
    assert with_random_cases(of=[wrong]).share == 0.5


# -- files


def test_the_exam_may_be_older_than_all_attempts_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.collect.submissions.MAX_ATTEMPTS", 3)
    for number, name in enumerate(("exam", "b", "c", "d")):
        path = tmp_path / "ada" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(a_notebook(f"name = {name!r}"))
        os.utime(path, (1_700_000_000 + number,) * 2)
    assert graded_of(tmp_path, "d").refusal is None
    assert graded_of(tmp_path, "b").refusal is None
    beyond = graded_of(tmp_path, "exam")
    assert beyond.refusal == "not read: there are 100 newer attempts"
    assert Path(beyond.path).stem == "exam"


def graded_of(folder: Path, exam: str) -> Submission:
    """What is graded of ada, where the notebook of that name is the exam."""

    def fit(_student: str, notebook: Notebook) -> int:
        return BEST if exam in notebook.cells[0].source else 0

    return collect(folder, {"ada": Student(id="ada")}, fit=fit).submissions[0]


@pytest.mark.parametrize("homework", [True, False])
def test_files_that_are_not_looked_at_may_hold_the_exam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, homework: bool
) -> None:
    monkeypatch.setattr("grader.collect.entries.MAX_EACH", 20)
    for name in ("data", "work"):
        (tmp_path / "ada" / name).mkdir(parents=True)
    if homework:
        (tmp_path / "ada" / "homework.ipynb").write_bytes(a_notebook("loss = 1"))
    for number in range(30):
        (tmp_path / "ada" / "data" / str(number)).touch()
    (tmp_path / "ada" / "work" / "exam.ipynb").write_bytes(a_notebook("q1_a = 1"))
    unseen = graded_of(tmp_path, "q1_a")
    assert unseen.refusal == (
        "there are more than 20 files; not all were examined; hand in the notebook itself"
    )
    if homework:
        assert graded_of(tmp_path, "loss").refusal is None
    found = collect_assignment(tmp_path, "ps1", ["first", "second"])
    assert {one.refusal for one in found.submissions["ada"].values()} >= {unseen.refusal}


def test_a_written_answer_is_shown_as_cut() -> None:
    def said(text: str) -> str:
        mark = Mark(
            problem="p1", part="essay", name="essay", kind=marks.MANUAL, points=None,
            max_points=3.0, verdict=Verdict.UNSETTLED, mistake=None, answer=None, feedback="",
        )  # fmt: skip
        return str(marks._judge_written(mark, {"t": "written", "v": text}).answer)

    assert said("x" * marks._SHOWN) == "x" * marks._SHOWN
    assert said("x" * (marks._SHOWN + 1)).endswith("see the notebook for the rest)")
