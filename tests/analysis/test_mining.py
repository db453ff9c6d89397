"""The mistake miner: it finds the ideas that a class has, and none that it does not have."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader.analysis.mining import Column, WrongAnswers, mine
from tests.helpers.banks import a_bank
from tests.helpers.commands import ok

Numbers = Mapping[str, float]

IDEAS: dict[str, Callable[[Numbers], float]] = {
    "without the division": lambda n: n["key"] * n["gpus"],
    "GiB for GB": lambda n: n["key"] / 1.024**3,
    "bits for bytes": lambda n: n["key"] * 8,
    "one layer too few": lambda n: n["key"] * (n["layers"] - 1) / n["layers"],
    "twice divided": lambda n: n["key"] / n["gpus"],
    "the other quantity": lambda n: n["memory"],
    "both together": lambda n: n["key"] + n["memory"],
    "the difference": lambda n: n["memory"] - n["key"],
    "the batch forgotten": lambda n: n["key"] / n["batch"],
    "squared": lambda n: n["key"] * n["batch"] / n["gpus"],
    "root": lambda n: n["key"] / n["gpus"] ** 0.5,
    "half": lambda n: n["key"] / 2,
}


def a_class(
    seed: int, planted: Mapping[str, int], others: int
) -> tuple[WrongAnswers, dict[str, str]]:
    """Wrong answers by each planted idea, rounded to three digits, and of *others* at random."""
    draw = random.Random(seed)
    names = [name for name, count in planted.items() for _ in range(count)] + [""] * others
    draw.shuffle(names)
    columns: dict[str, list[float]] = {n: [] for n in ("key", "layers", "gpus", "batch", "memory")}
    answers, held = [], {}
    for index, name in enumerate(names):
        mine_ = {
            "layers": float(draw.choice([12, 24, 32, 40, 48, 80])),
            "gpus": float(draw.choice([2, 4, 8, 16, 64])),
            "batch": float(draw.choice([1, 2, 4, 8, 16, 32])),
            "memory": draw.choice([16.0, 24.0, 40.0, 80.0, 141.0]),
        }
        mine_["key"] = 0.37 * mine_["layers"] * mine_["batch"] / mine_["gpus"]
        right = IDEAS[name](mine_) if name else mine_["key"] * 10 ** draw.uniform(-2, 2)
        answers.append(float(f"{right:.3g}"))
        held[f"s{index}"] = name
        for column, values in columns.items():
            values.append(mine_[column])
    plain = ("layers", "gpus", "batch")
    made = [
        Column(text=n, values=v, plain=n in plain, same_dimension=n not in plain)
        for n, v in columns.items()
    ]
    return WrongAnswers(students=list(held), answers=answers, columns=made), held


def test_nine_of_ten_ideas_held_by_five_students_are_found() -> None:
    planted = found = 0
    for seed in range(6):
        names = random.Random(seed).sample(sorted(IDEAS), 4)
        wrong, held = a_class(seed, dict.fromkeys(names, 5), others=20)
        ideas = mine(wrong)
        for name in names:
            students = {student for student, idea in held.items() if idea == name}
            planted += 1
            found += any(len(students & set(one.students)) >= 4 for one in ideas)
    assert found >= 0.9 * planted, (found, planted)


@pytest.mark.thorough
def test_fewer_than_one_false_idea_in_ten_parts() -> None:
    false = sum(len(mine(a_class(seed, {}, others=40)[0])) for seed in range(20))
    assert false <= 2


def test_an_idea_that_also_fits_others_by_chance_is_none() -> None:
    """Everybody has the same numbers and answers 5: that is no expression of the numbers."""
    same = [Column(text="key", values=[10.0] * 8, plain=False, same_dimension=True)]
    assert mine(WrongAnswers(students="abcdefgh", answers=[5.0] * 8, columns=same)) == ()


def test_too_few_students_have_no_idea() -> None:
    wrong, _ = a_class(1, {"half": 2}, others=0)
    assert mine(wrong) == ()


def test_each_student_counts_for_one_idea() -> None:
    wrong, _ = a_class(2, {"half": 8, "GiB for GB": 6}, others=10)
    students = [student for idea in mine(wrong) for student in idea.students]
    assert len(students) == len(set(students))


def test_a_graded_class_is_mined(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    ids = [f"s{number}" for number in range(12)]
    (tmp_path / "roster.csv").write_text("id\n" + "".join(f"{one}\n" for one in ids))
    ok(
        "render", "quiz", "--roster", tmp_path / "roster.csv", "--out", tmp_path / "release",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    for number, id_ in enumerate(ids):
        path = tmp_path / "in" / f"{id_}.ipynb"
        ok("solve", tmp_path / "release", "--student", id_, "--out", path,
           "--bank", tmp_path / "bank")  # fmt: skip
        key = json.loads(
            ok("key", tmp_path / "release", "--student", id_, "--json").stdout
        )["q1_share"]["value"]  # fmt: skip
        if number >= 7:
            continue
        data = json.loads(path.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        said = f"q1_share = {key / 2!r}"  # as if a parameter had one byte
        data["cells"].append({**cell, "id": "added", "source": said, "metadata": {}})
        path.write_text(json.dumps(data))
    ok(
        "grade", tmp_path / "in", "--release", tmp_path / "release", "--out", tmp_path / "results",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    [part] = json.loads(ok("mine", tmp_path / "results", "--json").stdout)
    assert part["wrong"] == 7
    [idea] = part["ideas"]
    assert len(idea["students"]) == 7
    assert "weights" in idea["value"]
    assert "7 of 7" in ok("mine", tmp_path / "results").stdout
    assert "value: (weights / gpus)" in ok("mine", tmp_path / "results", "--yaml").stdout
