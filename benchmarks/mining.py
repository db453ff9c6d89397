"""How many planted ideas `grader mine` finds, and how many that nobody has.

    python benchmarks/mining.py [--ideas written|declared] [--holders 5 20 5-25] [--out FILE]

With `5-25` holders, the number for each idea is drawn between these two.

A class of 200 students with individual numbers answers the numeric parts of the bank's exams. Some
hold an idea that the problem does not declare: one of `planted.py`, which were written by hand, or
one that the problem declares and that is taken out of it before. They round to two to four digits,
or not at all. Others give random wrong numbers, and some the right answer of another student.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planted import PLANTED, Planted

from grader.analysis.graded_class import WrongNumbers
from grader.analysis.mining import mine
from grader.bank.folders import Bank
from grader.draw import draw
from grader.kinds.numeric import NumberPart, NumericKey, evaluate_answer, judge
from grader.model import Part, Problem, Verdict

STUDENTS = 200
RANDOM, COPIED = 24, 4
"""How many students of a part give a random wrong number, and the answer of somebody else."""
MOST_IDEAS = 3
"""How many ideas are planted in one part at the same time."""
SETS = (
    *("midterm-1", "midterm-2", "quiz-compression", "quiz-cuda-threading", "quiz-foundations"),
    *("quiz-memory-math", "quiz-numerics", "quiz-parallelism", "quiz-profiling"),
    *("quiz-runtime-sanity", "quiz-training", "sheet-02-training-memory", "sheet-06-collectives"),
    "sheet-08-pipelines",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ideas", choices=("written", "declared"), default="written")
    parser.add_argument("--holders", nargs="+", default=["5", "20", "5-25"], metavar="N|N-M")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the parts, at random")
    parser.add_argument("--missed", action="store_true", help="print every idea that is not found")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    results = {
        holders: evaluate(chosen.ideas, holders, chosen.seed, chosen.share, chosen.missed)
        for holders in chosen.holders
    }
    for holders, one in results.items():
        print(f"{holders} holders: {one['found']} of {one['planted']} ideas found "
              f"({one['recall']:.1%}), {one['false']} false ideas in {one['parts']} parts "
              f"({one['false_per_part']:.3f} a part), {one['cpu_seconds']:.0f} s")  # fmt: skip
        for name, (found, planted) in sorted(one["types"].items()):
            print(f"    {name:18} {found} of {planted}")
    if chosen.out:
        chosen.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def evaluate(ideas: str, holders: str, seed: int, share: float, missed: bool) -> dict[str, Any]:
    """Returns how many ideas of *holders* students each are found, by type."""
    fewest, _, most = holders.partition("-")
    found: Counter[str] = Counter()
    planted: Counter[str] = Counter()
    false, parts, cpu = 0, 0, 0.0
    dice = random.Random(seed)
    for problem, plans in _by_problem(ideas):
        if dice.random() >= share:
            continue
        drawn = list(_draw(problem, plans))
        for part_id in dict.fromkeys(plan.part for plan in plans):
            mine_ = [plan for plan in plans if plan.part == part_id]
            random.Random(f"{seed} {problem.id} {part_id}").shuffle(mine_)
            keys = {id_: keys[part_id] for id_, keys in drawn}
            for start in range(0, len(mine_), MOST_IDEAS):
                some = mine_[start : start + MOST_IDEAS]
                sizes = range(int(fewest), int(most or fewest) + 1)
                wrong, held = _a_class(keys, some, sizes, f"{seed} {holders} {start}")
                before = time.process_time()
                mined = mine(wrong, fewest=3)
                cpu += time.process_time() - before
                parts += 1
                for plan in held:
                    planted[plan.type] += 1
                    hit = any(
                        _is_same(plan.value, one.expression, keys.values())
                        or _is_it(held[plan], set(one.students))
                        for one in mined
                    )
                    found[plan.type] += hit
                    if missed and not hit:
                        print("missed", *plan, sep=" | ", flush=True)
                for one in mined:
                    if not any(
                        len(held[p] & set(one.students)) * 2 > len(one.students) for p in held
                    ):
                        false += 1
                        if missed:
                            print(
                                "false ",
                                problem.id,
                                part_id,
                                len(one.students),
                                one.expression,
                                flush=True,
                            )
    return {
        "planted": planted.total(),
        "found": found.total(),
        "recall": found.total() / planted.total(),
        "types": {name: [found[name], planted[name]] for name in planted},
        "parts": parts,
        "false": false,
        "false_per_part": false / parts,
        "cpu_seconds": cpu,
    }


def _is_it(holders: set[str], explained: set[str]) -> bool:
    """Returns whether an idea explains four of five holders, and few others."""
    both = len(holders & explained)
    return both >= 0.8 * len(holders) and both * 2 > len(explained)


def _by_problem(ideas: str) -> Iterator[tuple[Problem, list[Planted]]]:
    """Yields problems, without the mistakes that are planted, and the ideas to plant."""
    bank = Bank.open()
    if ideas == "written":
        for id_ in dict.fromkeys(one.problem for one in PLANTED):
            yield bank.problem(id_), [one for one in PLANTED if one.problem == id_]
        return
    ids = dict.fromkeys(
        i for name in SETS for slot in bank.exam(name).slots for i in slot.problem_ids
    )
    for id_ in ids:
        problem = bank.problem(id_)
        plans: list[Planted] = []
        parts: list[Part] = []
        for part in problem.parts:
            if isinstance(part, NumberPart):
                plans += [
                    Planted(id_, part.id, _type_of(m.value), str(m.value)) for m in part.mistakes
                ]
                parts.append(replace(part, mistakes=()))
            else:
                parts.append(part)
        if plans:
            yield replace(problem, parts=tuple(parts)), plans


def _type_of(value: object) -> str:
    """A rough type of a declared mistake, from how it is written."""
    text = str(value)
    if not any(c.isalpha() for c in text.replace("e9", "")):
        return "a constant"
    for name in ("ceil", "floor", "//", "%", "max", "min", " if ", "log", "sqrt", "round"):
        if name in text:
            return "with a function"
    if "+" in text or " - " in text:
        return "sum"
    return "product" if "*" in text or "/" in text else "another quantity"


def _draw(
    problem: Problem, plans: Sequence[Planted]
) -> Iterator[tuple[str, dict[str, NumericKey]]]:
    bank_facts = Bank.open().facts
    for number in range(STUDENTS):
        keys = draw(problem, f"{number:032}".encode(), bank_facts).keys
        wanted = {plan.part for plan in plans}
        yield (
            f"s{number:03}",
            {p: k for p, k in keys.items() if p in wanted and isinstance(k, NumericKey)},
        )


def _a_class(
    keys: dict[str, NumericKey], plans: Sequence[Planted], sizes: range, seed: str
) -> tuple[WrongNumbers, dict[Planted, set[str]]]:
    """Returns the wrong answers of a class, and who holds which idea.

    An idea that is right for all but a few students, that a declared mistake explains already, or
    that is another planted idea, written in another way, is not planted.
    """
    dice = random.Random(f"{seed} {plans}")
    free = list(keys)
    dice.shuffle(free)
    held: dict[Planted, set[str]] = {}
    answers: dict[str, float] = {}
    for plan in plans:
        # Not drawn for a range of one, so that the other draws stay what they were.
        holders = sizes[0] if len(sizes) == 1 else dice.choice(sizes)
        if any(_is_same(plan.value, other.value, keys.values()) for other in held):
            continue
        mine_: dict[str, float] = {}
        for id_ in free:
            if len(mine_) == holders:
                break
            answer = _answer(keys[id_], plan.value, dice)
            if answer is not None:
                mine_[id_] = answer
        if len(mine_) == holders:
            held[plan] = set(mine_)
            answers |= mine_
            free = [id_ for id_ in free if id_ not in mine_]
    for id_ in free[:RANDOM]:
        answers[id_] = _random(keys[id_], dice)
    for id_, other in zip(free[RANDOM : RANDOM + COPIED], reversed(free), strict=False):
        answers[id_] = float(keys[other].value)
    wrong = WrongNumbers()
    for id_, key in keys.items():
        wrong.add(id_, key, answers.get(id_))
    return wrong, held


def _is_same(one: str, other: str, keys: Iterable[NumericKey]) -> bool:
    """Returns whether two ideas have the same value for all students."""
    for key in keys:
        try:
            values = [float(evaluate_answer(v, key.unit, key.draw, key.draw.scope))
                      for v in (one, other)]  # fmt: skip
        except ValueError:
            return False
        if not math.isclose(*values, rel_tol=1e-9):
            return False
    return True


def _answer(key: NumericKey, value: str, dice: random.Random) -> float | None:
    try:
        found = evaluate_answer(value, key.unit, key.draw, key.draw.scope)
    except ValueError:
        return None
    if key.part.kind == "integer":
        answer = float(found)
    else:
        digits = dice.choices((2, 3, 4, 16), (1, 4, 3, 2))[0]
        answer = float(f"{float(found):.{digits}g}")
    return answer if judge(answer, key).verdict is Verdict.INCORRECT else None


def _random(key: NumericKey, dice: random.Random) -> float:
    while True:
        spread = dice.uniform(-1.5, 1.5) if dice.random() < 0.6 else dice.gauss(0, 0.3)
        found = float(key.value or 1) * 10**spread
        found = (
            float(round(found))
            if key.part.kind == "integer"
            else float(f"{found:.{dice.choice((2, 3, 4))}g}")
        )
        if judge(found, key).verdict is Verdict.INCORRECT:
            return found


if __name__ == "__main__":
    main()
