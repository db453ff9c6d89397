"""The bank that comes with the package: sound, cited, and enough of it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from grader.bank.coverage import coverage
from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.choice import ChoiceKey
from grader.verify import verify_problem
from grader.verify.references import run_references
from tests.helpers.commands import ok

BANK = Bank.open()
IDS = sorted(BANK.paths)
AT_LEAST = {
    "memory-math": 6,
    "runtime-sanity": 6,
    "parallelism": 5,
    "cuda-threading": 5,
    "numerics": 4,
}


# Of the problems with code, those whose gate is quick: `make test` runs it for these alone.
SMOKE = {"kernel-index-guard", "online-softmax", "grid-stride-loop", "gradient-buckets"}
# Its independent computation compiles functions with torch.
SLOW = {"adaptive-step-sizes", "graph-breaks-and-recompilation"}
VARIANTS = 3
"""So few catch a slip at once; the nightly tests use many."""


def gates() -> Iterator[object]:
    """Each problem, marked by how long its gate takes."""
    for name, head in BANK.heads(IDS).items():
        runs_code = any(kinds.find(part.kind).needs_solution for part in head.parts)
        is_quick = name not in SLOW and (name in SMOKE or not runs_code)
        yield pytest.param(name, marks=() if is_quick else pytest.mark.thorough)


@pytest.mark.parametrize("name", [*gates()])
def test_a_problem_passes_the_gate(name: str) -> None:
    result = verify_problem(BANK, name, VARIANTS, code_seeds=1)
    # So few seeds say nothing about how many different variants there are.
    findings = [f for f in result.findings if f.check != "variants-differ"]
    assert not findings, [str(f) for f in findings]
    assert not result.errors


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_a_problem_passes_the_gate_over_many_variants(name: str) -> None:
    result = verify_problem(BANK, name, 400)
    assert result.holds, [str(f) for f in result.findings]


@pytest.mark.parametrize("name", IDS)
def test_a_problem_names_at_least_five_mistakes(name: str) -> None:
    variant = draw(BANK.problem(name), sample_seed(name, 0), BANK.facts)
    named: set[tuple[str, str]] = set()
    for part, key in variant.keys.items():
        if isinstance(key, CodeKey):  # whose mistakes are whole implementations
            named |= {(part, wrong) for wrong in key.solution_functions.functions_of_kind("wrong")}
            continue
        samples = kinds.find(key.part.kind).examples(key)
        named |= {(part, sample.mistake) for sample in samples if sample.mistake is not None}
    problem = BANK.problem(name)
    runs = problem.solution or any(part.kind == "prediction" for part in problem.parts)
    fewest = 1 if runs else 5  # what runs is compared with more than mistakes
    assert len(named) >= fewest, f"{name} has only these mistakes and wrong options: {named}"


def test_the_longest_option_is_seldom_the_right_one() -> None:
    longest: list[bool] = []
    for problem in BANK.problems():
        if not any(part.kind == "choice" for part in problem.parts):
            continue
        for seed in range(3):
            variant = draw(problem, sample_seed(problem.id, seed), BANK.facts)
            for key in variant.keys.values():
                if isinstance(key, ChoiceKey):
                    lengths = {choice.letter: len(choice.text) for choice in key.choices}
                    right = lengths.pop(key.right)
                    longest.append(right > max(lengths.values()))
    assert len(longest) >= 100
    assert sum(longest) < 0.45 * len(longest)


def test_every_part_of_an_explanation_has_a_paragraph_of_its_own() -> None:
    """A tag at the end of a line takes the line break, so that a blank line alone ends nothing."""
    joined = re.compile(r"[^\n]\{% \w+ %\}\n\n\*\*\(")
    assert [p.id for p in BANK.problems() if joined.search(p.explanation)] == []


def test_there_are_enough_problems_of_every_family() -> None:
    counts = Counter(p.family for p in BANK.problems())
    assert all(counts[family] >= least for family, least in AT_LEAST.items())
    assert counts["compression"] + counts["training"] + counts["profiling"] >= 4
    assert sum(counts.values()) >= 30


BEYOND_THE_INVENTORY = {
    "a-tensor-that-grows",
    "activation-smoothing",
    "checkpoint-interval",
    "continuous-batching",
    "distributed-matmul",
    "expert-dispatch",
    "graph-rewrites",
    "lock-order-deadlock",
    "low-rank-factorization",
    "memory-planner",
    "model-size-for-serving",
    "paged-kv-cache",
    "ring-attention",
    "scaling-law-fit",
    "speculative-decoding",
    "speculative-sampling",
    "tiled-attention-backward",
}


def test_every_cited_concept_is_in_the_inventory() -> None:
    found = coverage(BANK)
    assert not found.unknown_concepts
    assert len(found.concepts) == 520
    assert {p.id for p in BANK.problems() if not p.concepts} == BEYOND_THE_INVENTORY


def test_every_concept_of_a_problem_names_the_parts_that_examine_it() -> None:
    whole = {p.id for p in BANK.problems() if p.concepts and not isinstance(p.concepts, Mapping)}
    assert whole == set()


def test_who_examines_what_changes_only_on_purpose(golden: Callable[[str, str], None]) -> None:
    """Read the parts of a changed line: do they examine the concept?"""
    found = coverage(BANK)
    lines = [
        f"{name} ({found.concepts[name]['topic']}): "
        + ", ".join(f"{problem} ({' '.join(parts)})" for problem, parts in problems.items())
        for name, problems in found.problems.items()
    ]
    golden("examined.txt", "\n".join(lines) + "\n")


def test_sets_have_what_they_should() -> None:
    assert len(BANK.exam("midterm").problem_ids) == 10
    assert BANK.exam("midterm").minutes == 70  # what its parts take
    code = {p.id for p in BANK.problems() if p.solution}
    measured = {p.id for p in BANK.problems() if any(q.kind == "prediction" for q in p.parts)}
    # What not every computer can run stands in a set of its own.
    rare = {p.id for p in BANK.problems() if any(getattr(q, "needs", ()) for q in p.parts)}
    assert set(BANK.exam("triton").problem_ids) == rare
    assert set(BANK.exam("workshop").problem_ids) <= (code | measured) - rare
    assert set(BANK.exam("practice").problem_ids) <= set(IDS) - code - measured
    assert len(BANK.exam("lab").problem_ids) == 10
    assert set(BANK.exam("lab").problem_ids) <= code | measured
    assert any(slot.pool for slot in BANK.exam("practice").slots)


def test_every_fact_has_a_source_and_a_date() -> None:
    for item, fields in BANK.facts.items():
        assert fields["source"], item
        assert str(fields["checked"]).startswith("20"), item


@pytest.mark.slow
def test_the_demonstration_runs(tmp_path: Path) -> None:
    done = ok("demo", "--out", tmp_path / "demo")
    assert "private key is short" not in done.output + done.stderr
    grades = {
        p.stem: json.loads(p.read_text()) for p in (tmp_path / "demo/results/grades").glob("*.json")
    }
    assert len(grades) == 30
    full = {s for s, g in grades.items() if g["score"] == g["max_score"]}
    assert {"ada", "dana", "hugo", "kofi", "mateo", "quinn", "samir", "uma", "ximena"} <= full
    assert grades["elif"]["score"] == grades["nadia"]["score"] == 0
    assert (tmp_path / "demo/results/report/index.html").exists()


@pytest.mark.slow
def test_the_wheel_brings_bank_and_templates(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(root)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)], check=True
    )
    listed = subprocess.run(
        [sys.executable, "-m", "grader", "list", "--json"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {p["id"] for p in json.loads(listed.stdout)} == set(IDS)
    (about,) = (tmp_path / "site").glob("systems_grader-*.dist-info")
    assert {p.name for p in (about / "licenses").iterdir()} == {"LICENSE", "CITATION.cff"}
    # Neither images nor pages of the repository are there to link to on an index.
    text = (about / "METADATA").read_text(encoding="utf-8")
    assert "systems-grader grades exams about machine-learning systems" in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []


def test_no_two_problems_give_a_name_of_their_notebook_two_meanings() -> None:
    """In one notebook the last cell that sets a name decides for all functions that use it."""
    owners: dict[str, set[str]] = {}
    for name in IDS:
        variant = draw(BANK.problem(name), sample_seed(name, 0), BANK.facts)
        for part, key in variant.keys.items():
            for top in ast.parse(key.starter).body if isinstance(key, CodeKey) else ():
                if isinstance(top, ast.Assign | ast.AnnAssign):
                    targets = top.targets if isinstance(top, ast.Assign) else [top.target]
                    named = [one.id for one in targets if isinstance(one, ast.Name)]
                elif isinstance(top, ast.FunctionDef | ast.ClassDef) and top.name != part:
                    named = [top.name]
                else:
                    named = []
                for one in named:
                    owners.setdefault(one, set()).add(f"{name}: {ast.unparse(top)}")
    clashes = {one: who for one, who in owners.items() if len(who) > 1}
    assert not clashes


@pytest.mark.slow
def test_every_right_answer_earns_all_points_in_a_kernel() -> None:
    assert [line for name in BANK.listed_problems for line in run_references(BANK, [name])] == []
