"""Several people grade at one desk: who is where, answers in conflict, shares, and double marks."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.model.course import Course, GradingPlan, Role, StaffMember
from grader.model.desk import PartId
from grader.web.desk.access import AccessLinks, Person
from grader.web.desk.presence import OpenPage, Presence
from grader.web.desk.shares import Shares
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_desk, form_of, signed_in

WHY = "/part/sample/why"
PART = PartId("sample", "why")
STAFF = {
    "kim": StaffMember(role=Role.INSTRUCTOR),
    "gil": StaffMember(),
    "hao": StaffMember(),
    "ida": StaffMember(),
}
DOUBLE = GradingPlan(double_parts=("sample/why",), tolerance=0.25)


@contextmanager
def everybody(
    results: Path, plan: GradingPlan | None = None, staff: dict[str, StaffMember] = STAFF
) -> Iterator[dict[str, Reader]]:
    """A desk at which everybody on the staff is signed in."""
    course = Course(id="systems", staff=staff, grading=plan or GradingPlan())
    people = {
        f"token-{id_}": Person(id=id_, role=one.role, sections=one.sections)
        for id_, one in staff.items()
    }
    with a_desk(results, AccessLinks(people), course=course) as links:
        yield {id_: signed_in(link) for id_, link in links.items()}


def text_of(page: str) -> str:
    """The words of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def points_of(results: Path) -> dict[str, float]:
    with Gradebook.open(results) as book:
        return {one.student: one.points for one in book.overrides()}


def report_of(reader: Reader, page: str) -> dict[str, str]:
    """What the script of *page* hears about the others."""
    place = html.unescape(page.split('data-here="')[1].split('"', maxsplit=1)[0])
    status, text = reader.get(f"/here?{place}")
    assert status == 200
    return dict(json.loads(text))


# Who is where


def test_people_see_who_has_the_same_answer_open(results: Path) -> None:
    with everybody(results) as at:
        at["gil"].get(WHY)
        _, page = at["hao"].get(WHY)
        assert "gil has this answer open." in page
        _, other = at["ida"].get(f"{WHY}?group=1")
        assert "gil and hao have another answer to this part open." in text_of(other)
        said = report_of(at["hao"], page)
        assert said["here"] == (
            "gil has this answer open. ida has another answer to this part open."
        )
        assert said["sample/why"] == "gil, ida"
        _, queue = at["kim"].get("/")
        assert 'data-presence="sample/why">gil, hao, ida<' in queue
        at["gil"].get("/")
        assert report_of(at["hao"], page)["sample/why"] == "ida"
        assert not re.search(r"s[0-4]\b|Student", json.dumps(said))


def test_somebody_who_closes_the_page_is_gone_within_a_minute() -> None:
    now = [0.0]
    presence = Presence(clock=lambda: now[0])
    here = OpenPage(PART, "a")
    presence.report("gil", here)
    now[0] = 30
    assert presence.texts("hao", here)["here"] == "gil has this answer open."
    now[0] = 60
    assert presence.texts("hao", here) == {"here": ""}


def test_a_students_page_tells_who_else_has_it_open(results: Path) -> None:
    with everybody(results) as at:
        at["gil"].get("/student/s3")
        assert "gil has this student's page open." in text_of(at["hao"].get("/student/s3")[1])
        assert "gil has" not in text_of(at["hao"].get("/student/s2")[1])


def test_observers_are_not_reported(results: Path) -> None:
    staff = {**STAFF, "oda": StaffMember(role=Role.OBSERVER)}
    with everybody(results, staff=staff) as at:
        at["oda"].get(WHY)
        assert "oda" not in at["gil"].get(WHY)[1]
        assert "gil has this answer open." in at["oda"].get(WHY)[1]


# Two people in one answer


@pytest.mark.thorough
def test_the_second_person_sees_both_entries_and_chooses(results: Path) -> None:
    with everybody(results) as at:
        mine = form_of(at["hao"].get(WHY)[1], "/grade")
        at["gil"].send(WHY, "/grade", points="3", comment="names the lock")
        status, page = at["hao"].post("/grade", {**mine, "points": "1", "comment": "too short"})
        assert status == 409
        assert "because gil graded them in the meantime: gil gave 3. “names the lock”" in text_of(
            page
        )
        assert 'value="1" aria-describedby' in page
        assert ">too short</textarea>" in page
        assert set(points_of(results).values()) == {3}, "nothing is replaced before hao chooses"
        again = form_of(page, "/grade")
        assert at["hao"].post("/grade", {**again, "points": "1", "comment": "too short"})[0] == 200
        assert points_of(results) == {"s0": 1, "s1": 1, "s2": 1}
        _, student = at["kim"].get("/student/s0")
        assert "gil gave 3" in student, "the first decision stays in the history"


@pytest.mark.thorough
def test_answers_of_a_group_without_conflict_are_stored(results: Path) -> None:
    with everybody(results) as at:
        mine = form_of(at["hao"].get(WHY)[1], "/grade")
        at["gil"].send("/student/s1", "/override", points="2", comment="see me")
        page_of_s1 = at["gil"].get("/student/s1")[1].split('id="q1_why"')[1]
        fields = form_of(page_of_s1, "/override")
        at["gil"].post("/override", {**fields, "points": "2.5", "comment": "an example"})
        status, page = at["hao"].post("/grade", {**mine, "points": "4"})
        assert status == 409
        assert re.search(r"Answer \d+ of \d+ 1 student ", text_of(page))
        with Gradebook.open(results) as book:
            found = {o.student: o.points for o in book.overrides() if o.name == "q1_why"}
        assert found == {"s0": 4, "s1": 2.5, "s2": 4}


@pytest.mark.thorough
def test_a_changed_mark_keeps_the_entry_of_the_second_person(results: Path) -> None:
    with everybody(results) as at:
        mine = form_of(at["hao"].get("/student/s0")[1], "/override")
        at["gil"].send("/student/s0", "/override", points="0.5", comment="unit")
        status, page = at["hao"].post("/override", {**mine, "points": "1.5", "comment": "mine"})
        assert status == 409
        assert "Meanwhile, gil changed this mark to 0.5 points." in text_of(page)
        assert ">mine</textarea>" in page
        assert points_of(results) == {"s0": 0.5}


# Shares


def shares_of(plan: GradingPlan, staff: dict[str, StaffMember] = STAFF) -> Shares:
    return Shares(course=Course(id="systems", staff=staff), plan=plan, secret="s")


def test_even_shares_are_even_and_stay_when_somebody_leaves() -> None:
    keys = [f"answer {number}" for number in range(3000)]
    before = shares_of(GradingPlan(divide="evenly"))
    owners = {key: before.graders_of(PART, key) for key in keys}
    for id_ in ("gil", "hao", "ida"):
        assert 900 < sum(one == (id_,) for one in owners.values()) < 1100
    assert set(owners.values()) == {("gil",), ("hao",), ("ida",)}
    left = {id_: one for id_, one in STAFF.items() if id_ != "ida"}
    after = shares_of(GradingPlan(divide="evenly"), left)
    moved = {key: after.graders_of(PART, key) for key in keys}
    assert all(moved[key] == one for key, one in owners.items() if one != ("ida",))
    assert {moved[key] for key, one in owners.items() if one == ("ida",)} == {("gil",), ("hao",)}


def test_shares_by_section_and_by_part() -> None:
    staff = {"gil": StaffMember(sections=("A",)), "hao": StaffMember(sections=("B", "C"))}
    by_section = shares_of(GradingPlan(divide="sections"), staff)
    assert by_section.graders_of(PART, "x", "A") == ("gil",)
    assert by_section.graders_of(PART, "x", "C") == ("hao",)
    assert by_section.graders_of(PART, "x", "D") == ()
    parts = {"sample/why": ("ida",), "sample": ("gil",)}
    by_part = shares_of(GradingPlan(divide="parts", parts=parts))
    assert by_part.graders_of(PART, "x") == ("ida",)
    assert by_part.graders_of(PartId("sample", "how"), "x") == ("gil",)
    assert by_part.graders_of(PartId("other", "how"), "x") == ()


def test_the_share_of_double_answers_and_their_two_people() -> None:
    shares = shares_of(GradingPlan(divide="evenly", double=0.1))
    keys = [f"answer {number}" for number in range(3000)]
    chosen = {key for key in keys if shares.is_double(PART, key)}
    assert 230 < len(chosen) < 370
    assert all(len(set(shares.graders_of(PART, key))) == 2 for key in chosen)
    more = shares_of(GradingPlan(divide="evenly", double=0.2))
    assert all(more.is_double(PART, key) for key in chosen), "a larger sample contains the smaller"


@pytest.mark.thorough
def test_the_queue_counts_what_is_left_of_a_share_and_the_part_starts_with_it(
    results: Path,
) -> None:
    for number in range(20):  # shares depend on the secret; we want one without an empty share
        with Gradebook.open(results) as book:
            book.set_setting("pseudonyms", f"{number}", secret=True)
        with everybody(results, GradingPlan(divide="evenly")) as at:
            mine = {id_: _left(at[id_].get("/")[1]) for id_ in ("gil", "hao", "ida")}
        assert sum(mine.values()) == 5
        if all(mine.values()):
            break
    with everybody(results, GradingPlan(divide="evenly")) as at:
        somebody = max(mine, key=lambda id_: mine[id_])
        _, page = at[somebody].get(WHY)
        assert f"share of {somebody}" in text_of(page)
        assert f"{mine[somebody]} left in your share, 5 answers left in all" in text_of(page)
        while _left(at[somebody].get("/")[1]):
            at[somebody].send(WHY, "/grade", points="3")
        _, page = at[somebody].get(WHY)
        left = 5 - mine[somebody]
        assert f"Your share of this part is graded. {left} answer" in text_of(page)
        assert len(points_of(results)) == mine[somebody]
        # Somebody else's share can be taken.
        _, page = at[somebody].get(f"{WHY}?all=1")
        at[somebody].post("/grade", {**form_of(page, "/grade"), "points": "2"})
        assert len(points_of(results)) > mine[somebody]
        assert "Nothing in your share is waiting." in at["kim"].get("/")[1]


def _left(queue: str) -> int:
    share = queue.split('id="mine"')[1].split("</section>", maxsplit=1)[0]
    found = re.search(r'<td class="num"><strong>(\d+)</strong></td>', share)
    return int(found[1]) if found else 0


@pytest.mark.thorough
def test_a_part_that_nobody_was_asked_is_named_to_the_instructor(results: Path) -> None:
    plan = GradingPlan(divide="parts", parts={"sample/wy": ("gil",), "sample/why": ("gil",)})
    with everybody(results, plan) as at:
        assert "parts that no student was asked: sample/wy." in text_of(at["kim"].get("/")[1])
        assert "sample/wy" not in at["gil"].get("/")[1]


# Double grading


def grade(reader: Reader, points: str, path: str = WHY, **more: str) -> tuple[int, str]:
    return reader.send(path, "/grade", points=points, **more)


@pytest.mark.thorough
def test_two_people_who_are_close_settle_an_answer_at_the_mean(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        grade(at["gil"], "3", f"{WHY}?group=0", comment="names it")
        assert points_of(results) == {}, "the answer stays open"
        _, page = at["hao"].get(f"{WHY}?group=0")
        assert "gil gave" not in text_of(page)
        assert "names it" not in page
        assert "You gave 3. Another person grades this answer too." in text_of(
            at["gil"].get(f"{WHY}?group=0")[1]
        )
        grade(at["hao"], "2", f"{WHY}?group=0", comment="too short")
        assert points_of(results) == {"s0": 2.5, "s1": 2.5, "s2": 2.5}
        with Gradebook.open(results) as book:
            assert book.overrides()[0].reason == "names it\n\ntoo short"
            assert book.overrides()[0].by == "gil and hao"
        _, page = at["ida"].get(f"{WHY}?group=0")
        assert "gil gave 3" in text_of(page)
        assert "hao gave 2" in text_of(page)


@pytest.mark.thorough
def test_two_people_who_differ_leave_the_answer_to_a_third(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        grade(at["gil"], "4", f"{WHY}?group=0")
        grade(at["hao"], "1", f"{WHY}?group=0")
        assert points_of(results) == {}
        _, page = at["gil"].get(f"{WHY}?group=0")
        assert "hao gave 1" in text_of(page)
        assert 'action="/grade"' not in page
        assert "Graded differently by two people" not in at["gil"].get("/")[1]
        assert "Graded differently by two people" in at["ida"].get("/")[1]
        _, page = at["ida"].get(WHY)
        assert "Decide which points count." in text_of(page)
        grade(at["ida"], "3")
        assert points_of(results) == {"s0": 3, "s1": 3, "s2": 3}


@pytest.mark.thorough
def test_nobody_sees_the_first_mark_but_its_author_and_the_audit_log(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        grade(at["gil"], "3.25", f"{WHY}?group=0", comment="names it")
        for id_ in ("hao", "kim"):
            for path in (WHY, f"{WHY}?group=0", "/student/s0", "/", "/requests", "/agreement"):
                _, page = at[id_].get(path)
                assert "gave 3.25" not in page, (id_, path)
                assert "names it" not in page, (id_, path)
        assert "gil gave 3.25" in at["gil"].get("/student/s0")[1]
        log = at["kim"].get("/audit")[1]
        assert "answer graded independently" in log
        assert "names it" in log


@pytest.mark.thorough
def test_a_third_person_who_was_slower_sees_both_marks_first(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        slow = form_of(at["ida"].get(f"{WHY}?group=0")[1], "/grade")
        grade(at["gil"], "4", f"{WHY}?group=0")
        grade(at["hao"], "1", f"{WHY}?group=0")
        status, page = at["ida"].post("/grade", {**slow, "points": "2", "comment": "mine"})
        assert status == 409
        assert "gil gave 4" in text_of(page)
        assert "hao gave 1" in text_of(page)
        assert ">mine</textarea>" in page
        assert points_of(results) == {}
        at["ida"].post("/grade", {**form_of(page, "/grade"), "points": "2"})
        assert set(points_of(results).values()) == {2}


@pytest.mark.thorough
def test_own_marks_can_be_changed_and_undone_until_the_second_one(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        grade(at["gil"], "1", f"{WHY}?group=0")
        _, first = grade(at["gil"], "2", f"{WHY}?group=0")
        assert "You gave 2." in text_of(at["gil"].get(f"{WHY}?group=0")[1])
        undo = form_of(first, "/undo")
        at["gil"].post("/undo", undo)
        assert "You gave 1." in text_of(at["gil"].get(f"{WHY}?group=0")[1])
        _, page = grade(at["gil"], "1", f"{WHY}?group=0")
        token = form_of(at["hao"].get(WHY)[1], "/grade")["form_token"]
        stolen = {**form_of(page, "/undo"), "form_token": token}
        assert at["hao"].post("/undo", stolen)[0] == 400
        _, page = grade(at["hao"], "1", f"{WHY}?group=0")
        assert set(points_of(results).values()) == {1}
        at["hao"].post("/undo", form_of(page, "/undo"))
        assert points_of(results) == {}, "the second mark and the mean are taken back together"
        assert "You gave 1." in text_of(at["gil"].get(f"{WHY}?group=0")[1])


@pytest.mark.thorough
def test_a_mark_that_somebody_answered_cannot_be_undone(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        _, page = grade(at["gil"], "2", f"{WHY}?group=0")
        grade(at["hao"], "2", f"{WHY}?group=0")
        status, said = at["gil"].post("/undo", form_of(page, "/undo"))
        assert status == 400
        assert "these answers were graded again since" in said
        assert set(points_of(results).values()) == {2}


@pytest.mark.thorough
def test_an_instructor_need_not_wait_and_a_grader_cannot_go_around(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        fields = form_of(at["gil"].get("/student/s3")[1].split('id="q1_why"')[1], "/override")
        status, page = at["gil"].post("/override", {**fields, "points": "1", "comment": "x"})
        assert status == 400
        assert "two people grade this answer independently" in page.casefold()
        grade(at["gil"], "3", f"{WHY}?group=0", final="1")
        assert points_of(results) == {}
        grade(at["kim"], "2", f"{WHY}?group=0", final="1")
        assert points_of(results) == {"s0": 2, "s1": 2, "s2": 2}


@pytest.mark.thorough
def test_no_mark_is_lost_by_a_regrade_and_tables_have_final_points_alone(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        grade(at["gil"], "4", f"{WHY}?group=0")
        grade(at["gil"], "3", f"{WHY}?group=1")
        grade(at["hao"], "1", f"{WHY}?group=0")
        bank = results.parent / "bank"
        ok("score", results, "--bank", bank)
        with Gradebook.open(results) as book:
            marks = [(one.student, one.by, one.points) for one in book.double.current()]
        assert sorted(marks)[:2] == [("s0", "gil", 4), ("s0", "hao", 1)]
        assert len(marks) == 7
        grades = json.loads((results / "grades" / "s0.json").read_text())
        why = next(mark for mark in grades["marks"] if mark["name"] == "q1_why")
        assert why["points"] is None
        assert not grades["complete"]


@pytest.mark.thorough
def test_marks_of_an_answer_that_changed_do_not_count_for_the_new_one(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        grade(at["gil"], "4", f"{WHY}?group=0")
        with Gradebook.open(results) as book:
            old = book.grade("s0")
            assert old is not None
            new = (replace(m, answer="Another") if m.name == "q1_why" else m for m in old.marks)
            book.put_grades([replace(old, marks=tuple(new))], why="handed in again")
        for index in range(4):
            grade(at["hao"], "4", f"{WHY}?group={index}")
        assert points_of(results) == {"s1": 4, "s2": 4}


@pytest.mark.thorough
def test_a_rubric_item_that_changes_changes_marks_and_means(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        token = form_of(at["kim"].get(WHY)[1], "/item")["form_token"]
        item = {"problem": "sample", "part": "why", "text": "lock", "form_token": token}
        at["kim"].post("/item", {**item, "points": "3"})
        for id_, more in (("gil", {}), ("hao", {"points": "2"})):
            fields = form_of(at[id_].get(f"{WHY}?group=0")[1], "/grade")
            at[id_].post("/grade", {**fields, "item": "1", **more})
        assert set(points_of(results).values()) == {2.5}
        at["kim"].post("/item", {**item, "points": "1", "number": "1"})
        assert set(points_of(results).values()) == {1.5}


def test_two_people_who_change_an_item_lose_nothing(results: Path) -> None:
    with Gradebook.open(results) as book:
        book.rubrics.add(PART, "lock", 4 / 3, by="kim")
    with everybody(results, DOUBLE) as at:
        old = form_of(at["gil"].get(WHY)[1], "/item")
        said = {"text": "lock", "feedback": "It names the lock."}
        assert at["kim"].post("/item", {**old, "form_token": "", **said})[0] == 403
        mine = {**form_of(at["kim"].get(WHY)[1], "/item"), **said, "points": "1.33"}
        assert at["kim"].post("/item", mine)[0] == 200
        status, page = at["gil"].post("/item", {**old, "text": "locks", "points": "1"})
        assert status == 400
        assert "Somebody changed this item in the meantime" in page
    with Gradebook.open(results) as book:
        (item,) = book.rubrics.items(PART)
    assert (item.text, item.points, item.feedback) == ("lock", 4 / 3, "It names the lock.")


@pytest.mark.thorough
def test_agreement_counts_each_judgment_once(results: Path) -> None:
    with everybody(results, DOUBLE) as at:
        for index in range(3):
            page = f"{WHY}?group={index}"
            grade(at["gil"], str(index + 1), page)
        for index in range(3):
            _, page = at["hao"].get(f"{WHY}?group={index}")
            at["hao"].post("/grade", {**form_of(page, "/grade"), "points": str(index + 1)})
        _, page = at["kim"].get("/agreement")
        assert "sample/why gil, hao 3 1.00 (0.44 to 1.00)" in text_of(page)
        assert at["gil"].get("/agreement")[0] == 403
    shown = json.loads(ok("report", results, "--bank", results.parent / "bank", "--json").output)
    (line,) = shown["agreement"]
    assert (line["part"], line["count"], line["exact"], line["kappa"]) == ("sample/why", 3, 1, 1)
