"""Practice over HTTP: verdicts, what is never wrong, code in a kernel, and who may do what."""

from __future__ import annotations

import json
import re
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.kinds import kinds
from grader.kinds.answers import explain_part
from grader.model import Verdict
from grader.notebook.render.answer_cells import code_cell
from grader.web.practice.answers import NONE, form_of
from grader.web.practice.question import criteria
from grader.web.practice.spacing import load_progress
from grader.web.safety import FormFields
from tests.helpers.commands import fails
from tests.helpers.desk import Reader, signed_in
from tests.helpers.desk import form_of as form_in
from tests.helpers.practice import a_practice, a_server, right_fields

OF_FORM = {
    "table": "activation-smoothing",
    "line": "kv-cache-size",
    "matching": "energy-of-a-layer",
    "ordering": "energy-of-a-layer",
    "plan": "pruning-ratios",
    "truth": "recall-compression",
    "text": "threads-versus-processes",
}


@pytest.mark.thorough
@pytest.mark.parametrize("form", OF_FORM)
def test_right_answers_of_every_form_earn_all_points(form: str, tmp_path: Path) -> None:
    practice = a_practice(tmp_path, OF_FORM[form])
    assert practice.question is not None
    assert form in {form_of(key) for key in practice.question.keys.values()}
    fields = right_fields(practice.question)
    for name, key in practice.question.keys.items():
        if form_of(key) == "text":
            fields[name] = ["Because a thread that waits has released the lock of the interpreter."]
    practice.answer(FormFields(fields), give_up=False)
    assert practice.problems_with == {}
    assert practice.result is not None
    assert practice.result.points == practice.result.max_points
    assert not practice.file.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["table", "matching", "ordering", "plan"])
def test_an_answer_that_is_only_begun_is_not_wrong(form: str, tmp_path: Path) -> None:
    practice = a_practice(tmp_path, OF_FORM[form])
    assert practice.question is not None
    right = right_fields(practice.question)
    name = next(n for n, key in practice.question.keys.items() if form_of(key) == form)
    mine = [field for field in right if field.startswith(f"{name}.")]
    key = practice.question.keys[name]
    expected = {
        "table": lambda: f"{key.titles[-1]} of {key.rows[-1]}",  # type: ignore[attr-defined]
        "matching": lambda: f"item {len(mine)}",
        "ordering": lambda: f"place {len(mine)}",
        "plan": lambda: list(key.part.choose)[-1],  # type: ignore[attr-defined]
    }[form]()
    for blank in ("", " "):
        practice.answer(FormFields({**right, mine[-1]: [blank]}), give_up=False)
        said = f"This answer is not complete. Still missing: {expected}."
        assert practice.problems_with == {name: said}
        assert practice.result is None
        assert practice.progress.answer_count == 0
    only_first = {**right, **{field: [""] for field in mine[1:]}}
    practice.answer(FormFields(only_first), give_up=False)
    count = len(mine) - 1
    said = practice.problems_with[name]
    assert said.count(";") == min(count - 1, 6)
    assert said.endswith(f"; and {count - 6} more." if count > 6 else f"{expected}.")
    practice.answer(FormFields({**right, **{field: [""] for field in mine}}), give_up=False)
    assert practice.problems_with == {name: "This answer is blank."}
    practice.answer(FormFields(only_first), give_up=True)
    assert practice.result is not None
    assert practice.result.points < practice.result.max_points


@pytest.mark.thorough
def test_a_truth_value_without_its_reason_is_not_wrong(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, OF_FORM["truth"])
    assert practice.question is not None
    right = right_fields(practice.question)
    name = next(n for n in right if n.endswith(".reason") and right[n] != [""])
    for field, missing in ((name.removesuffix(".reason"), "true or false"), (name, "a reason")):
        practice.answer(FormFields({**right, field: [""]}), give_up=False)
        (said,) = practice.problems_with.values()
        assert said == f"This answer is not complete. Still missing: {missing}."
        assert practice.result is None
    practice.answer(FormFields(right), give_up=False)
    assert practice.result is not None


def give_up(reader: Reader) -> None:
    fields = form_in(reader.get("/question")[1], "/answer")
    reader.post("/answer", {**fields, "action": "solution"})


@pytest.mark.thorough
def test_malformed_is_not_wrong_and_the_solution_comes_at_once(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "fsdp-state-per-gpu")
    with a_server(practice) as link:
        reader = signed_in(link)
        assert practice.question is not None
        right = right_fields(practice.question)
        name = next(n for n, k in practice.question.keys.items() if form_of(k) == "line")
        _, page = reader.send("/question", "/answer", **{**right, name: "28 bananas"})
        assert "Not graded yet" in page
        assert "That is not a wrong answer" in page
        assert "28 bananas" in page
        assert "Worked solution" not in page
        assert practice.progress.answer_count == 0
        _, page = reader.send("/question", "/answer", **right)
        assert "Worked solution" in page
        assert practice.progress.answer_count == 1
        # A form that was sent before changes nothing.
        fields = {**form_in(page, "/next")}
        assert reader.post("/answer", {**fields, **right})[0] == 400
        assert practice.progress.answer_count == 1
        number = practice.number
        assert "Worked solution" not in reader.send("/question", "/next")[1]
        assert practice.number != number
        assert reader.post("/answer", fields)[0] == 400


@pytest.mark.thorough
def test_options_and_none_of_them_contradict_each_other(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "kv-cache-size")
    assert practice.question is not None
    name = next(n for n, k in practice.question.keys.items() if form_of(k) == "letters")
    practice.answer(
        FormFields({**right_fields(practice.question), name: ["A", NONE]}), give_up=False
    )
    assert practice.problems_with == {name: "Choose either options or “None of these”, not both."}
    practice.answer(FormFields({**right_fields(practice.question), name: []}), give_up=False)
    assert practice.problems_with == {name: "This answer is blank."}


@pytest.mark.thorough
@pytest.mark.parametrize("problem", ["fsdp-state-per-gpu", "threads-versus-processes"])
def test_the_key_is_on_the_page_only_after_the_answer(problem: str, tmp_path: Path) -> None:
    practice = a_practice(tmp_path, problem)
    with a_server(practice) as link:
        reader = signed_in(link)
        _, page = reader.get("/question")
        asked = practice.question
        assert asked is not None
        secret = [asked.text.solution.strip()[:40]]
        for key in asked.keys.values():
            kind = kinds.find(key.part.kind)
            secret += [
                explain_part(kind, key),
                *(m.feedback for m in getattr(key.part, "mistakes", ())),
            ]
            secret += [one.text for one in criteria(key, 4)]
            if form_of(key) == "line" and isinstance(value := kind.answer(key), float):
                secret.append(f"{value:.4g}")
        secret = [text for text in secret if len(text) > 3]  # "2" is on every page
        for text in secret:
            assert text not in page
        assert not re.search(r"checked|selected|Right answer|Worked solution", page)


@pytest.mark.thorough
def test_a_known_mistake_gets_its_feedback(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "fsdp-state-per-gpu")
    assert practice.question is not None
    for name, key in practice.question.keys.items():
        wrong = [e for e in kinds.find(key.part.kind).examples(key) if e.mistake and not e.share]
        if form_of(key) != "line" or not wrong:
            continue
        fields = {**right_fields(practice.question), name: [str(wrong[0].raw["v"])]}
        practice.answer(FormFields(fields), give_up=False)
        assert practice.result is not None
        assert practice.result.marks[name].verdict is Verdict.MISTAKE
        assert practice.result.marks[name].mistake == wrong[0].mistake
        assert practice.progress.boxes["fsdp-state-per-gpu"].number == 1
        return
    raise AssertionError("no part with a mistake")


@pytest.mark.thorough
def test_an_explanation_is_ticked_by_the_student(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "threads-versus-processes")
    with a_server(practice) as link:
        reader = signed_in(link)
        assert practice.question is not None
        right = right_fields(practice.question)
        (name,) = (n for n, k in practice.question.keys.items() if form_of(k) == "text")
        right[name] = ["<script>alert(1)</script> a thread that waits has released the lock"]
        _, page = reader.send("/question", "/answer", **right)
        assert "Tick what your explanation says" in page
        assert "<script>alert" not in page
        _, page = reader.send("/question", "/tick", criterion=["0", "999", "x"])
        assert practice.result is not None
        assert practice.result.marks[name].points == 1
        assert practice.progress.answer_count == 1


def test_code_runs_in_a_kernel(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "self-time-from-a-trace")
    assert practice.question is not None
    keys = practice.question.keys
    code = [name for name, key in keys.items() if form_of(key) == "code"]
    assert code
    fields = right_fields(practice.question)
    for name in code:
        fields[name] = [code_cell(name, keys[name], fields[name][0])]
    broken = {**fields, code[0]: ["def oops(:"]}
    practice.answer(FormFields(broken), give_up=False)
    assert practice.result is None
    assert "SyntaxError" in practice.problems_with[code[0]]
    practice.answer(FormFields(fields), give_up=False)
    assert practice.result is not None, practice.problems_with
    assert practice.result.marks[code[0]].points == practice.result.marks[code[0]].max_points


@pytest.mark.thorough
def test_progress_is_kept_only_on_request(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "kv-cache-size")
    with a_server(practice) as link:
        reader = signed_in(link)
        give_up(reader)
        assert not practice.file.exists()
        reader.send("/question", "/save")
        assert load_progress(practice.file) == practice.progress
        reader.send("/question", "/next")
        give_up(reader)
        assert load_progress(practice.file).answer_count == 2
    other = a_practice(tmp_path)
    with pytest.raises(SetupError, match="already exists"):
        other.save()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"schema": 1}', '{"schema": "systems-grader/practice/v1"}']
)
def test_another_file_is_not_progress(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(SetupError, match="was not written by"):
        load_progress(path)
    data = {"schema": "systems-grader/practice/v1", "answered": -1, "level": "recall", "boxes": {}}
    path.write_text(json.dumps(data))
    with pytest.raises(SetupError):
        load_progress(path)


@pytest.mark.thorough
def test_only_the_link_opens_the_pages(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "kv-cache-size")
    with a_server(practice) as link:
        stranger = Reader(link.partition("/enter")[0])
        assert stranger.get("/question")[0] == 403
        assert stranger.get("/enter?token=%ff")[0] == 403
        assert stranger.post("/next", {"variant": practice.number})[0] == 403
        reader = signed_in(link)
        assert reader.post("/next", {"variant": practice.number})[0] == 403
        assert reader.get("/", Host="evil.example")[0] == 400
        assert reader.get("/static/..%2fbase.html.j2")[0] == 404
        token = form_in(reader.get("/question")[1], "/answer")
        for fields in (
            {**token, "variant": "99999999999999999999"},
            {**token, "q1_cache": "9" * 40_000, "action": "solution"},
        ):
            assert reader.post("/answer", fields)[0] in (200, 400)
        assert reader.post("/answer", {**token, "x": "y" * 300_000})[0] == 413
        assert reader.post("/answer", {**token, **{f"f{n}": "" for n in range(2_000)}})[0] < 500
        for minutes in ("nan", "-1", "1e999", "soon"):
            assert reader.post("/start", {**token, "minutes": minutes})[0] == 400
        assert reader.post("/start", {**token, "wanted": "../../etc/passwd"})[0] == 400
        assert reader.post("/start", {**token, "family": "no-such"})[0] == 400
        assert reader.get("/question")[0] == 200


@pytest.mark.thorough
def test_a_page_takes_less_than_200_ms(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "quiz-memory-math")
    with a_server(practice) as link:
        reader = signed_in(link)
        reader.send("/question", "/next")
        times = []
        for _ in range(7):
            reader.send("/question", "/next")
            began = time.monotonic()
            assert reader.get("/question")[0] == 200
            times.append(time.monotonic() - began)
        assert sorted(times)[3] < 0.2


@pytest.mark.thorough
def test_choices_are_checked_before_the_server_starts(capsys: pytest.CaptureFixture[str]) -> None:
    said = fails(capsys, "practice", "no-such-problem")
    assert "there is no problem or set 'no-such-problem'" in said


@pytest.mark.skipif(find_spec("triton") is not None, reason="this machine can run Triton")
def test_code_that_waits_for_another_machine_is_no_explanation(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "triton-row-softmax")
    assert practice.question is not None
    with a_server(practice) as link:
        reader = signed_in(link)
        fields = form_in(reader.get("/question")[1], "/answer")
        code = {"q1_row_softmax": "def q1_row_softmax(x):\n    return x"}
        right = right_fields(practice.question)
        page = reader.post("/answer", {**fields, **right, **code, "action": "check"})[1]
    assert "1 answer below is not counted yet." in page
    assert "This machine lacks triton" in page


def test_code_that_imports_what_is_not_installed_is_asked_for_again(tmp_path: Path) -> None:
    practice = a_practice(tmp_path, "online-softmax")
    assert practice.question is not None
    fields = right_fields(practice.question)
    fields["q1_row_stats"] = ["import no_such_package\ndef q1_row_stats(scores, block):\n    pass"]
    practice.answer(FormFields(fields), give_up=False)
    said = practice.problems_with["q1_row_stats"]
    assert "ModuleNotFoundError: No module named 'no_such_package'" in said
