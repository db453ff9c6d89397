"""Blueprints: which problems fill them, that papers are equal, and what an error says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.bank.folders import Bank
from grader.bank.heads import split_minutes
from grader.bank.statistics import (
    PartStatistics,
    TermStatistics,
    add_term,
    spec_name,
    statistics_path,
)
from grader.draw import iter_chosen
from grader.errors import SpecError
from grader.integrations.paper.printing import answerable_on_paper
from grader.model import ExamSet
from grader.release.composition import composition
from tests.helpers.banks import SPEC, a_bank, a_roster
from tests.helpers.commands import fails, ok

ROOT = Path(__file__).parent.parent.parent
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where libyaml is there
SETS = {
    path.stem: yaml.load(path.read_text(encoding="utf-8"), LOADER)
    for path in (ROOT / "problems/sets").glob("*.yaml")
}
BANK = Bank.open()
BLUEPRINTS = sorted(name for name, data in SETS.items() if "blueprint" in data)

QUIZ = """\
id: quiz
title: A quiz
minutes: 12
blueprint:
  minutes: 10
  points: 7
  families: {memory-math: 60%, numerics: 40%}
  levels: {apply: 60%, analyze: 40%}
  code: false
"""

# Id, family, level, minutes, points of the first part, and concept. The second part has 1 point.
PROBLEMS = (
    ("apply-a", "memory-math", "apply", 6, 3, "a-01"),
    ("apply-b", "memory-math", "apply", 6.2, 3, "a-02"),
    ("apply-long", "memory-math", "apply", 9, 3, "a-03"),
    ("apply-same", "memory-math", "apply", 6, 3, "n-01"),
    ("other-c", "numerics", "analyze", 4, 2, "n-01"),
    ("other-d", "numerics", "analyze", 4.2, 2, "n-02"),
    ("other-easy", "numerics", "apply", 4, 2, "n-03"),
)


def a_problem(
    name: str, family: str, level: str, minutes: float, first: float, concept: str
) -> str:
    """The spec of a problem of two parts."""
    return (
        SPEC.replace("id: sample", f"id: {name}")
        .replace("family: memory-math", f"family: {family}")
        .replace("concepts: []", f"concepts: [{concept}]")
        .replace("level: apply", f"level: {level}")
        .replace("minutes: 4", f"minutes: {minutes}")
        .replace("points: 2", f"points: {first}")
    )


def a_course(folder: Path, exam: str = QUIZ, problems: tuple[Any, ...] = PROBLEMS) -> Path:
    """A bank with *problems* and the set *exam*."""
    for one in problems:
        a_bank(folder, a_problem(*one), exam=exam)
    return folder


def slots_of(exam: ExamSet) -> list[dict[str, tuple[str, ...]]]:
    """The parts of each problem that each entry may ask; empty for all."""
    return [{name: slot.parts_of(name) for name in slot.problem_ids} for slot in exam.slots]


# --- What fills a blueprint


def test_problems_of_the_same_weight_stand_for_one_another(tmp_path: Path) -> None:
    exam = Bank.open([a_course(tmp_path)]).exam("quiz")
    # apply-long takes longer, apply-same has a concept of other-c, other-easy is of another level.
    assert slots_of(exam) == [{"apply-a": (), "apply-b": ()}, {"other-c": (), "other-d": ()}]


def test_problems_that_were_harder_do_not_stand_for_easier_ones(tmp_path: Path) -> None:
    """The same statistics give the same entries, and a release keeps those that it was made of."""
    bank = a_course(tmp_path)
    release = (tmp_path / "release", "--bank", bank)
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", *release)
    before = (tmp_path / "release/release.json").read_bytes()
    for name, mean in (("apply-a", 0.9), ("apply-b", 0.4)):
        part = PartStatistics(students=30, mean=mean, solved=mean)
        spec = spec_name(Bank.open([bank]).digest(name))
        term = TermStatistics(
            spec=spec, term="fall", results="a1", parts={"share": part, "bound": part}
        )
        add_term(statistics_path(bank / "problems/memory-math", name), term)
    found = slots_of(Bank.open([bank]).exam("quiz"))
    assert found == slots_of(Bank.open([bank]).exam("quiz"))
    assert len(found[0]) == 1
    assert found[1] == {"other-c": (), "other-d": ()}
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", *release)
    assert (tmp_path / "release/release.json").read_bytes() == before


def test_leading_parts_are_asked_where_whole_problems_have_too_many_points(tmp_path: Path) -> None:
    text = QUIZ.replace("points: 7", "points: 6").replace("60%", "50%").replace("40%", "50%")
    found = Bank.open([a_course(tmp_path, text + "  tolerance: 15%\n")]).exam("quiz")
    assert sorted({parts for slot in slots_of(found) for parts in slot.values()}) == [
        (),
        ("share",),
    ]
    assert all(len(set(slot.values())) == 1 for slot in slots_of(found))


def test_what_the_set_lists_counts_and_its_concepts_are_taken(tmp_path: Path) -> None:
    exam = QUIZ + "problems:\n  - apply-same\n"
    found = slots_of(Bank.open([a_course(tmp_path, exam)]).exam("quiz"))
    assert found == [{"apply-same": ()}, {"other-d": ()}]


def test_an_excluded_problem_is_not_drawn(tmp_path: Path) -> None:
    exam = QUIZ + "  exclude: [apply-same, other-c]\n"
    found = slots_of(Bank.open([a_course(tmp_path, exam)]).exam("quiz"))
    assert found == [{"apply-a": (), "apply-b": ()}, {"other-d": ()}]


def test_only_problems_with_one_of_the_topics_are_drawn(tmp_path: Path) -> None:
    bank = a_course(tmp_path, QUIZ + "  topics: [sharded]\n")
    for name in ("memory-math/apply-b", "numerics/other-c"):
        path = bank / "problems" / f"{name}.yaml"
        path.write_text(path.read_text().replace("[fsdp]", "[fsdp, sharded]"))
    assert slots_of(Bank.open([bank]).exam("quiz")) == [{"apply-b": ()}, {"other-c": ()}]


def test_the_same_bank_gives_the_same_entries() -> None:
    one, other = Bank.open(), Bank.open()
    assert BLUEPRINTS
    for name in BLUEPRINTS:
        assert one.exam(name) == other.exam(name), name


@pytest.mark.thorough
def test_another_seed_fills_a_blueprint_with_other_problems(tmp_path: Path) -> None:
    path = tmp_path / "midterm-2.yaml"
    drawn = set()
    for seed in range(6):
        text = (ROOT / "problems/sets/midterm-2.yaml").read_text(encoding="utf-8")
        path.write_text(f"{text}  seed: {seed}\n", encoding="utf-8")
        drawn.add(Bank.open().exam(str(path)).problem_ids)
    assert len(drawn) > 1


def test_a_blueprint_of_a_private_bank_draws_no_public_problem(tmp_path: Path) -> None:
    exam = Bank.open([a_course(tmp_path)]).exam("quiz")
    assert set(exam.problem_ids) <= {name for name, *_ in PROBLEMS}


@pytest.mark.thorough
def test_a_set_of_the_package_draws_from_the_package_whatever_bank_is_named(tmp_path: Path) -> None:
    assert Bank.open([a_course(tmp_path)]).exam("final") == Bank.open().exam("final")


# --- 200 papers of each blueprint of the package


def minutes_and_points(spec: Mapping[str, Any], asked: tuple[str, ...]) -> tuple[float, float]:
    """The minutes and points of the *asked* parts (all if empty), from the spec alone."""
    parts = spec["parts"]
    rest = spec["minutes"] - sum(part.get("minutes", 0) for part in parts)
    shared = sum(part.get("points", 1) for part in parts if "minutes" not in part)
    minutes = points = 0.0
    for part in parts:
        if not asked or part["id"] in asked:
            worth = part.get("points", 1)
            points += worth
            minutes += part["minutes"] if "minutes" in part else rest * worth / shared
    return minutes, points


@pytest.fixture(scope="module")
def specs() -> dict[str, Any]:
    return {
        path.stem: yaml.load(path.read_text(encoding="utf-8"), LOADER)
        for path in (ROOT / "problems").glob("*/*.yaml")
        if path.parent.name not in ("sets", "facts")
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", BLUEPRINTS)
def test_two_hundred_papers_have_the_same_points_and_levels_and_about_the_same_minutes(
    name: str, specs: dict[str, Any]
) -> None:
    exam, wanted = BANK.exam(name), SETS[name]["blueprint"]
    times, kinds_of_paper = [], set()
    for student in range(200):
        minutes = points = 0.0
        levels: dict[str, float] = {}
        families: dict[str, float] = {}
        cited: list[str] = []
        for slot, problem in iter_chosen(exam, b"any key", f"student {student}"):
            spec = specs[problem]
            took, worth = minutes_and_points(spec, slot.parts_of(problem))
            minutes, points = minutes + took, points + worth
            for shares, key in ((levels, "level"), (families, "family")):
                shares[spec[key]] = shares.get(spec[key], 0.0) + worth
            cited += spec.get("concepts", [])
        assert len(set(cited)) == len(cited), f"{name}: two problems on one concept"
        times.append(minutes)
        kinds_of_paper.add((points, tuple(sorted(levels.items())), tuple(sorted(families.items()))))
    ((points, levels_found, families_found),) = kinds_of_paper  # the same for all students
    assert points == wanted["points"]
    assert max(times) <= 1.1 * min(times)
    assert 0.9 * wanted["minutes"] <= min(times)
    assert max(times) <= min(1.1 * wanted["minutes"], SETS[name].get("minutes", 1e9)) + 1e-6
    for key, found in (("levels", dict(levels_found)), ("families", dict(families_found))):
        for share, percent in wanted.get(key, {}).items():
            assert abs(found.get(share, 0) / points - float(percent[:-1]) / 100) <= 0.1 + 1e-6
            assert found.get(share, 0) > 0


@pytest.mark.parametrize("name", sorted(name for name, data in SETS.items() if "minutes" in data))
def test_no_paper_takes_longer_than_its_set_allows(name: str) -> None:
    found = composition(BANK, name)
    assert found.minutes[1] <= SETS[name]["minutes"] + 0.5


@pytest.mark.thorough
def test_midterms_final_and_quizzes_can_be_printed() -> None:
    for name in BLUEPRINTS:
        if name.startswith(("quiz", "midterm", "final")):
            exam = BANK.exam(name)
            assert answerable_on_paper(exam, BANK, leave_out=False) == (exam, ())


# --- A release


@pytest.mark.thorough
def test_a_release_grades_the_same_after_a_problem_is_added_to_the_bank(tmp_path: Path) -> None:
    bank = a_course(tmp_path / "bank")
    release, results = tmp_path / "release", tmp_path / "results"
    key = ("--private-key", "k" * 22)
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", release, "--bank", bank, *key)
    notebook = tmp_path / "in" / "ada.ipynb"
    ok("solve", release, "--student", "ada", "--out", notebook, "--bank", bank)
    grading = ("grade", notebook.parent, "--release", release, "--out")
    ok(*grading, results)
    before = Bank.open([bank]).exam("quiz")
    again = ok("render", "quiz", "--student", "ada", "--out", release, "--bank", bank, *key)
    assert "changed" not in again.stderr + again.stdout

    for one in (
        ("new-a", "memory-math", "apply", 6.1, 3, "a-10"),
        ("new-c", "numerics", "analyze", 4.1, 2, "n-10"),
    ):
        a_bank(bank, a_problem(*one), exam=QUIZ)
    assert Bank.open([bank]).exam("quiz") != before  # a new release would differ
    ok(*grading, tmp_path / "again")
    first = json.loads((results / "grades/ada.json").read_text())
    second = json.loads((tmp_path / "again/grades/ada.json").read_text())
    assert first["score"] == first["max_score"] == 7
    assert [first["marks"], first["release"]] == [second["marks"], second["release"]]

    preview = ok("score", results, "--specs", "current", "--dry-run", "--json", "--bank", bank)
    assert json.loads(preview.stdout)["changes"] == []

    # A student who is added later gets a paper of the old entries, and a note says so.
    more = a_roster(tmp_path, "id\nada\nbo\ncy\ndi\n")
    added = ok("render", "quiz", "--roster", more, "--out", release, "--bank", bank, *key)
    assert "the release is unchanged" in added.stderr + added.stdout
    kept = {key["problem"] for key in json.loads(
        ok("key", release, "--student", "di", "--json").output).values()}  # fmt: skip
    assert kept <= set(before.problem_ids)


def test_a_notebook_asks_only_the_leading_parts_of_the_problem_that_the_student_gets(
    tmp_path: Path,
) -> None:
    exam = """\
id: quiz
title: A quiz
problems:
  - {pool: [apply-a, apply-b], parts: {apply-a: [share]}}
"""
    bank, asked = a_course(tmp_path / "bank", exam), {}
    release = tmp_path / "release"
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", release, "--bank", bank,
       "--private-key", "split the class")  # fmt: skip
    for student in ("ada", "bo", "cy"):
        data = json.loads(ok("key", release, "--student", student, "--json").output)
        asked[next(iter(data.values()))["problem"]] = list(data)
    assert asked == {"apply-a": ["q1_share"], "apply-b": ["q1_share", "q1_bound"]}


# --- Minutes of parts


def test_parts_without_minutes_share_the_rest_by_points() -> None:
    assert split_minutes(20, [(4, 14), (1, None), (2, None)]) == (14, 2, 4)
    assert split_minutes(6, [(2, None), (1, None)]) == (4, 2)


@pytest.mark.parametrize(
    ("minutes", "what"),
    [
        (4, "the parts state 4 minutes, but the problem takes 4"),
        (9, "the parts state 9 minutes, but the problem takes 4"),
        (0, "a part can't take 0 minutes"),
    ],
)
def test_minutes_of_parts_that_leave_nothing_for_the_others(
    minutes: float, what: str, tmp_path: Path
) -> None:
    spec = SPEC.replace("    points: 2\n", f"    points: 2\n    minutes: {minutes}\n")
    with pytest.raises(SpecError) as caught:
        Bank.open([a_bank(tmp_path, spec)]).problem("sample")
    assert what in str(caught.value)


# --- Errors


@pytest.mark.parametrize(
    ("old", "new", "where", "what", "fix"),
    [
        ("memory-math: 60%", "memory-math: 70%", "7:13", "add up to 110%", "add up to 100%"),
        ("numerics: 40%", "numerisc: 40%", "7:32", "no family 'numerisc'", "'numerics'"),
        ("apply: 60%", "aply: 60%", "8:12", "unknown key 'aply'", "did you mean 'apply'?"),
        ("memory-math: 60%", "memory-math: 160%", "7:27", "a share such as 25%", "a percentage"),
        ("{memory-math: 60%, numerics: 40%}", "[numerics]", "7:13", "keys and values", "{memory-"),
        ("numerics: 40%", "training: 40%", "7:42", "0 points of 'training'", "of 'training'"),
        ("minutes: 10\n  points", "minutes: -1\n  points", "5:12", "can't be -1", "greater than 0"),
        ("minutes: 12", "minutes: 8", "5:12", "don't fit in the 8 of the set", "the minutes"),
        ("points: 7", "points: much", "6:11", "should be a number", ""),
        ("code: false", "code: none", "9:9", "should be true or false", ""),
        ("code: false", "exclude: [apply-z]", "9:13", "no problem 'apply-z'", "'apply-"),
        ("code: false", "topics: [fsd]", "9:12", "no problem has the topic 'fsd'", "'fsdp'"),
        ("code: false", "cod: false", "9:3", "unknown key 'cod'", "'code'"),
        ("code: false", "code: true", "5:", "the bank has no problem that fits", "'code:'"),
        ("points: 7", "points: 50", "6:11", "a paper can have 19 points, but needs 50", "add"),
        ("points: 7", "points: 7.5", "6:11", "exactly 7.5 points", "write 'points: 7'"),
        ("analyze: 40%}", "create: 40%}", "8:",
         "0 points of 'create', but needs 2.1", "add problems of 'create'"),
        ("minutes: 10\n  points", "minutes: 13\n  points", "5:12",
         "take 10.4 or 13.0 minutes, not 11.7 to 12.0", "change 'minutes:' or 'points:'"),
        ("code: false", "questions: 5", "9:14", "have 2 questions", "change 'questions:'"),
        ("apply: 60%, analyze: 40%", "apply: 95%, analyze: 5%", "8:",
         "has 57% of its points in 'apply', not 85% to 100%", "change its share"),
    ],
)  # fmt: skip
def test_a_blueprint_that_can_not_be_filled_says_where_and_what_would_help(
    old: str, new: str, where: str, what: str, fix: str, tmp_path: Path
) -> None:
    assert old in QUIZ
    problems = tuple(one for one in PROBLEMS if one[0] != "other-easy")
    bank = Bank.open([a_course(tmp_path, QUIZ.replace(old, new, 1), problems)])
    with pytest.raises(SpecError) as caught:
        bank.exam("quiz")
    text = str(caught.value)
    assert f"quiz.yaml:{where}" in text
    assert what in text
    assert fix in text.partition("\n  fix: ")[2]


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("{pool: [apply-a, apply-b], parts: [share]}", "must name the problem"),
        ("{problem: apply-a, parts: {apply-a: [share]}}", "should be a list of its parts"),
        ("{pool: [apply-a, apply-b], parts: {other-c: [share]}}", "'other-c' is not in this pool"),
        ("{pool: [apply-a, apply-b], parts: {apply-a: [shard]}}", "'apply-a' has no part 'shard'"),
    ],
)
def test_parts_of_a_pool_name_their_problem(entry: str, what: str, tmp_path: Path) -> None:
    exam = f"id: quiz\ntitle: A quiz\nproblems:\n  - {entry}\n"
    with pytest.raises(SpecError) as caught:
        Bank.open([a_course(tmp_path, exam)]).exam("quiz")
    assert what in str(caught.value)


def test_a_bank_with_an_unreadable_problem_fills_no_blueprint(tmp_path: Path) -> None:
    bank = a_course(tmp_path)
    (bank / "problems/numerics/broken.yaml").write_text("id: [broken")
    with pytest.raises(SpecError) as caught:
        Bank.open([bank]).exam("quiz")
    assert "broken.yaml:2:1: not YAML" in str(caught.value)


# --- grader show SET


def test_the_table_of_a_set(tmp_path: Path, golden) -> None:
    bank = a_course(tmp_path)
    (bank / "problems/concepts.yaml").write_text(
        "".join(
            f"{name}: {{family: memory-math, topic: topic-{name}, sentence: A sentence.}}\n"
            for name in ("a-01", "a-02", "n-01", "n-02")
        )
    )
    golden("show-set.txt", ok("show", "quiz", "--bank", bank).output)


def test_a_set_by_its_path_and_as_data(tmp_path: Path) -> None:
    bank = a_course(tmp_path)
    path = bank / "problems/sets/quiz.yaml"
    data = json.loads(ok("show", path, "--json", "--bank", bank).output)
    assert (data["points"], data["papers"]) == ([7, 7], 200)
    assert data["minutes"] == [10, 10.4]
    assert data["most_problems_on_one_concept"] == 1
    assert [entry["asked"] for entry in data["entries"]] == [1, 1]


def test_the_table_says_that_papers_differ_where_a_pool_is_uneven(tmp_path: Path) -> None:
    exam = "id: quiz\ntitle: A quiz\nminutes: 5\nproblems:\n  - pool: [apply-a, apply-long]\n"
    text = ok("show", "quiz", "--bank", a_course(tmp_path, exam)).output
    assert "The longest paper takes 50.0% more minutes than the shortest." in text
    assert "The set allows 5 minutes, but a paper can take 9.0." in text


def test_a_set_has_no_key_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank = a_course(tmp_path)
    assert "--key needs a problem" in fails(capsys, "show", "quiz", "--key", "--bank", bank)
