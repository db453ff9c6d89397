"""The gate must fail for each class of defect, and pass what is sound."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.bank.skeleton import write_skeleton
from grader.draw import draw, sample_seed
from grader.errors import Location
from grader.kinds import kinds, student_tools
from grader.kinds.answers import answer_as_python
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.kinds.hidden.solutions import run_solution_code
from grader.verify import Finding, Verified, verify, verify_problem
from grader.verify.cache import ResultCache, cache_file
from grader.verify.rank_pool import _Pool, keep_ranks
from grader.verify.variants import group_findings
from grader.wire import calls
from tests.helpers.banks import SOLUTION, SPEC, a_bank


def gate(
    folder: Path, spec: str = SPEC, solution: str | None = SOLUTION, seeds: int = 30
) -> Verified:
    return verify_problem(Bank.open([a_bank(folder, spec, solution)]), "sample", seeds)


def checks(result: Verified) -> set[str]:
    return {finding.check for finding in result.findings}


def test_a_sound_problem_passes(tmp_path: Path) -> None:
    result = gate(tmp_path)
    assert result.holds, [str(f) for f in result.findings] + list(result.errors)
    assert result.distinct >= 8


def test_the_skeleton_of_a_new_problem_passes(tmp_path: Path) -> None:
    write_skeleton("memory-math/brand-new", tmp_path)
    result = verify_problem(Bank.open([tmp_path]), "brand-new", 50)
    assert result.holds, [str(f) for f in result.findings] + list(result.errors)


DEFECTS = {
    "second-computation": (
        SPEC.replace("weights / gpus\n    tol", "weights / gpus / 2\n    tol"),
        SOLUTION,
    ),
    "mistakes": (
        SPEC.replace("value: 2 * weights / gpus", "value: 1.005 * weights / gpus"),
        SOLUTION,
    ),
    "trivial-guess": (
        SPEC.replace("{choice: [8, 16, 32]}", "{choice: [2]}").replace(
            "[1.3, 2.7, 6.7, 13, 30]", "[1.3, 2.7, 3, 4, 5, 6.7, 7, 8, 9, 13, 30]"
        ),
        SOLUTION,
    ),
    "dimensions": (SPEC.replace("answer: weights / gpus", "answer: weights / gpus / s"), SOLUTION),
    "readable-numbers": (SPEC.replace("unit: GB", "unit: B"), SOLUTION.replace("/ 1e9", "")),
    "printed-rounding": (
        SPEC.replace("{{ billions }} billion", "{{ billions | round | int }} billion"),
        SOLUTION,
    ),
    "variants-differ": (SPEC.replace("{choice: [8, 16, 32]}", "{choice: [8]}"), SOLUTION),
    "hit-rate": (
        SPEC.replace("values:\n", "where: [billions < 1]\nvalues:\n"),
        SOLUTION,
    ),
    "tolerance": (
        SPEC.replace("answer: weights / gpus\n", "answer: 0 * weights / gpus\n"),
        SOLUTION,
    ),
    "values": (SPEC.replace("values:\n", "values:\n  broken: 1 / (gpus - gpus)\n"), SOLUTION),
}


@pytest.mark.thorough
@pytest.mark.parametrize("check", DEFECTS)
def test_the_gate_finds_each_class_of_defect(check: str, tmp_path: Path) -> None:
    spec, solution = DEFECTS[check]
    assert spec != SPEC or solution != SOLUTION
    result = gate(tmp_path, spec, solution)
    assert check in checks(result), [str(f) for f in result.findings] + list(result.errors)


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("relative: 1%", "relative: 0%", "widen the tolerance"),
        ("answer: weights / gpus\n", "answer: 0 * weights / gpus\n", "give an absolute tolerance"),
    ],
)
def test_a_tolerance_without_width_says_how_to_widen_it(
    old: str, new: str, fix: str, tmp_path: Path
) -> None:
    result = gate(tmp_path, SPEC.replace(old, new), seeds=1)
    found = next(f for f in result.findings if f.check == "tolerance")
    assert fix in str(found.fix)
    assert ("at zero" in found.what) == ("0 *" in new)


def test_two_mistakes_that_coincide_are_found(tmp_path: Path) -> None:
    twin = "      - {id: twin, value: weights / (gpus / 2), feedback: That is half the GPUs.}\n"
    spec = SPEC.replace("  - id: bound", twin + "  - id: bound")
    found = [f for f in gate(tmp_path, spec).findings if f.check == "mistakes"]
    assert found
    assert "'twin'" in found[0].what
    assert "'fp32'" in found[0].what


def test_a_problem_without_a_second_computation_does_not_hold(tmp_path: Path) -> None:
    result = gate(tmp_path, solution=None)
    assert checks(result) == {"second-computation"}


def test_a_solution_that_raises_is_named_with_file_and_line(tmp_path: Path) -> None:
    result = gate(tmp_path, solution="def solve(given):\n    return given['gpu']\n")
    finding = result.findings[0]
    assert finding.where.file.endswith("sample.py")
    assert finding.where.line == 2
    assert "KeyError" in finding.what


def test_a_fact_without_its_unit_says_how_to_name_it(tmp_path: Path) -> None:
    body = "    return given.fact('h100-sxm', 'memory_bandwidth')\n"
    what = gate(tmp_path, solution=f"def solve(given):\n{body}").findings[0].what
    assert "write given.fact('h100-sxm', 'memory_bandwidth', 'TB/s')" in what


CATCHES = """\
    while True:
        try:
            sum(range(1000))
        except Exception:
            pass
"""
CATCHES_ALL = """\
    try:
        while True:
            pass
    except:
        while True:
            pass
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    import sys\n    sys.exit(0)\n", "SystemExit"),
        ("    while True:\n        pass\n", "TimeoutError: it ran longer than"),
        ("    import time\n    time.sleep(60)\n", "TimeoutError: it ran longer than"),
        (CATCHES, "TimeoutError: it ran longer than"),
        (CATCHES_ALL, "TimeoutError: it ran longer than"),
        ("    return 3\n", "TypeError"),
        ("    return {'share': 'x', 'bound': 'bf16'}\n", "the solution computes"),
        ("    return {'share': 1, 'bound': 'bf17'}\n", "bf17"),
    ],
)
def test_a_solution_that_misbehaves_is_a_finding_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    monkeypatch.setattr("grader.verify.solutions.SOLVE_SECONDS", 0.5)
    result = gate(tmp_path, solution="def solve(given):\n" + body)
    assert checks(result) >= {"second-computation"}
    assert any(words in f.what for f in result.findings), [f.what for f in result.findings]


def test_a_solution_may_wait_for_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.verify.solutions.SOLVE_SECONDS", 0.5)
    waiting = SOLUTION.replace("    blocks", "    import time\n    time.sleep(0.7)\n    blocks", 1)
    assert waiting != SOLUTION
    assert gate(tmp_path, solution=waiting, seeds=1).holds


def test_what_a_solution_prints_stays_off_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noisy = "print('loading')\n" + SOLUTION.replace("    blocks", "    print('x')\n    blocks")
    assert gate(tmp_path, solution=noisy).holds
    assert capsys.readouterr().out == ""


def test_what_a_tool_prints_stays_off_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    # Without Triton, its tool says so as soon as it is loaded.
    verify_problem(Bank.open(), "triton-row-softmax", seeds=1, code_seeds=1)
    assert capsys.readouterr().out == ""


def test_mistakes_nearer_than_the_tolerance_are_found(tmp_path: Path) -> None:
    near = "      - {id: near, value: 2.004 * weights / gpus, feedback: Almost the same.}\n"
    found = [
        f
        for f in gate(tmp_path, SPEC.replace("  - id: bound", near + "  - id: bound")).findings
        if "closer than the tolerance" in f.what
    ]
    assert found


def test_answers_that_no_parameter_changes_are_found(tmp_path: Path) -> None:
    spec = SPEC.replace("answer: weights / gpus", "answer: 3.21 * GB").replace(
        "value: 2 * weights / gpus", "value: 6.42 * GB"
    )
    found = [f for f in gate(tmp_path, spec).findings if f.check == "variants-differ"]
    assert "the same answers" in found[0].what


def test_what_follows_from_a_wrong_answer_is_tried_for_every_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SPEC.replace(
        "  - id: bound",
        "  - id: time\n    kind: numeric\n    ask: How long to read it at 1 TB/s?\n"
        "    uses: [share]\n    unit: ms\n    answer: share / (1 * TB / s)\n  - id: bound",
    )
    assert "carried-forward" not in checks(gate(tmp_path, spec))
    guarded = spec.replace("unit: ms", "carry: {where: [share < 0 * GB]}\n    unit: ms")
    assert "carried-forward" not in checks(gate(tmp_path, guarded)), "the author's guard holds"
    monkeypatch.setattr("grader.grading.score._is_plausible", lambda *_: False)
    assert "carried-forward" in checks(gate(tmp_path, spec))


def test_an_undefined_name_is_an_error_of_the_spec(tmp_path: Path) -> None:
    result = gate(tmp_path, SPEC.replace("{{ gpus }} GPUs", "{{ gpu }} GPUs"))
    assert not result.holds
    assert "did you mean 'gpus'?" in result.errors[0]


def test_an_untouched_notebook_that_earns_points_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No spec can bring this about, so a kind that gives itself away stands in.
    monkeypatch.setattr(
        "grader.notebook.render.paper_cells.placeholder",
        lambda key: answer_as_python(kinds.find(key.part.kind), key),
    )
    assert "zero-marks" in checks(gate(tmp_path))


def test_a_right_answer_that_does_not_earn_everything_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numeric = kinds.find("numeric")
    monkeypatch.setattr(type(numeric), "answer", lambda self, key: 0.125)
    assert "full-marks" in checks(gate(tmp_path))


def test_a_finding_names_file_line_seed_and_numbers(tmp_path: Path) -> None:
    spec, solution = DEFECTS["mistakes"]
    finding = next(f for f in gate(tmp_path, spec, solution).findings if f.check == "mistakes")
    lines = spec.splitlines()
    assert finding.where.file.endswith("sample.yaml")
    assert finding.where.line is not None
    assert "id: fp32" in lines[finding.where.line - 1]
    assert finding.seed is not None
    assert "billions = " in finding.values


def test_a_mistake_of_another_dimension_is_named_at_its_line(tmp_path: Path) -> None:
    spec = SPEC.replace("value: 2 * weights / gpus", "value: 2 * weights / gpus / s")
    finding = next(f for f in gate(tmp_path, spec).findings if f.check == "mistakes")
    assert "the mistake 'fp32'" in finding.what
    assert finding.where.line is not None
    assert "id: fp32" in spec.splitlines()[finding.where.line - 1]


@pytest.mark.thorough
def test_workers_find_what_one_process_finds(tmp_path: Path) -> None:
    spec, solution = DEFECTS["mistakes"]
    bank = a_bank(tmp_path, spec, solution)
    a_bank(tmp_path, SPEC.replace("id: sample", "id: other"))
    alone = verify([bank], ["sample", "other"], seeds=4, jobs=1)
    together = verify([bank], ["sample", "other"], seeds=4, jobs=2)
    assert [r.findings for r in alone] == [r.findings for r in together]
    assert not alone[0].holds


@pytest.mark.parametrize("concepts", ["{mem-99: [share]}", "[mem-01, mem-99]"])
def test_a_concept_that_the_inventory_lacks_is_found_even_after_an_edit(
    concepts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bank = a_bank(tmp_path / "bank", SPEC.replace("concepts: []", f"concepts: {concepts}"))
    inventory = bank / "problems" / "concepts.yaml"
    lines = "mem-01: {family: memory-math}\nmem-99: {family: memory-math}\n"
    inventory.write_text(lines, encoding="utf-8")
    assert verify([bank], ["sample"], seeds=30, jobs=1, cached=True)[0].holds

    inventory.write_text("mem-01: {family: memory-math}\n", encoding="utf-8")
    (result,) = verify([bank], ["sample"], seeds=30, jobs=1, cached=True)
    assert result.is_cached
    (finding,) = result.findings
    assert (finding.check, finding.fix) == ("concepts", "did you mean 'mem-01'?")
    assert "the concept 'mem-99' is not in problems/concepts.yaml" in str(finding)
    assert "sample.yaml:" in str(finding)

    inventory.unlink()
    assert verify([bank], ["sample"], seeds=30, jobs=1, cached=True)[0].holds


def test_a_concept_inventory_that_cannot_be_read_is_a_result_of_its_own(tmp_path: Path) -> None:
    bank = a_bank(tmp_path)
    (bank / "problems" / "concepts.yaml").write_text("mem-01: {topic: x}\n", encoding="utf-8")
    broken, result = verify([bank], seeds=30, jobs=1)
    assert "has no family" in broken.errors[0]
    assert result.holds


def test_a_finding_of_all_seeds_is_reported_once_with_its_count(tmp_path: Path) -> None:
    spec = SPEC.replace("answer: weights / gpus", "answer: weights / gpus / s")
    result = gate(tmp_path, spec)
    (finding,) = [f for f in result.findings if f.check == "dimensions"]
    assert (finding.seed, finding.seeds, finding.of) == (0, 30, 30)
    assert "\n  30 of 30 seeds; first: seed 0" in str(finding)


def test_findings_that_differ_only_in_numbers_are_one_and_others_are_not() -> None:
    def finding(what: str, seed: int, check: str = "mistakes") -> Finding:
        where = Location("a.yaml", 3)
        return Finding(problem="a", check=check, where=where, what=what, fix="f", seed=seed)

    same = [finding(f"earns {s}.5 of 2 points, not 1e-{s}", s) for s in range(4)]
    other = [finding("is not read", 1), finding("is not read", 3)]
    code = [finding("raised", 0, "implementations")]
    groups = group_findings([*same, *other, *code], seeds=10, code_seeds=3)
    assert [(g.what, g.seed, g.seeds, g.of) for g in groups] == [
        ("earns 0.5 of 2 points, not 1e-0", 0, 4, 10),
        ("is not read", 1, 2, 10),
        ("raised", 0, 1, 3),
    ]
    many = [finding(word, 0) for word in ("one", "two", "three", "four")]
    assert len(group_findings(many, 1, 1)) == 3


def test_a_guess_that_is_right_by_luck_is_no_finding() -> None:
    where = Location("a.yaml", 3)
    guesses = [
        Finding(problem="a", check="trivial-guess", where=where, what=f"{n}", fix="f", seed=n)
        for n in range(2)
    ]
    assert len(group_findings(guesses, seeds=100, code_seeds=3)) == 1
    assert not group_findings(guesses, seeds=101, code_seeds=3)


def test_a_sound_problem_is_remembered_until_something_changes(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank", SPEC, SOLUTION)
    file = cache_file()
    file.unlink(missing_ok=True)

    def cached(**more: Any) -> list[bool]:
        return [r.is_cached for r in verify([bank], seeds=40, cached=True, **more)]

    assert [cached(), cached()] == [[False], [True]]
    assert [cached(kernel=True), cached(kernel=True)] == [[False], [True]]
    solution = bank / "solutions" / "memory-math" / "sample.py"
    solution.write_text(f"{SOLUTION}\n# changed\n", encoding="utf-8")
    assert [cached(), cached()] == [[False], [True]]
    file.write_text('{"a": ', encoding="utf-8")
    assert [cached(), cached()] == [[False], [True]]


def test_a_change_of_a_plug_in_is_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = Bank.open([a_bank(tmp_path / "bank", SPEC, SOLUTION)])
    point = EntryPoint("mine", "my_kinds.mine:MINE", "grader.kinds")
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [point] if group == point.group else []
    )
    module = tmp_path / "my_kinds" / "mine.py"
    module.parent.mkdir()
    module.with_name("__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    digests = set()
    for text in ("MINE = 1", "MINE = 2"):
        module.write_text(text, encoding="utf-8")
        digests.add(ResultCache(bank, 40, kernel=False)._digest("sample"))
    assert len(digests) == 2


def test_a_problem_with_findings_is_not_remembered(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank", SPEC, SOLUTION.replace("/", "*"))
    for _ in range(2):
        (result,) = verify([bank], seeds=40, cached=True)
        assert result.findings
        assert not result.is_cached


@pytest.mark.slow
def test_kept_ranks_give_the_results_of_fresh_ones() -> None:
    pytest.importorskip("torch")
    part, bank = "ring_all_reduce", Bank.open()
    name = "ring-all-reduce-messages"
    variant = draw(bank.problem(name), sample_seed(name, 0), bank.facts)
    key, kind = variant.keys[part], kinds.find("code")
    assert isinstance(key, CodeKey)
    assert isinstance(kind, CodeKind)
    functions = [part, f"{part}_right_padded", f"{part}_wrong_everybody_sends_first"]
    fresh = [kind.raw(key, one) for one in functions]
    with keep_ranks([key]):
        assert [kind.raw(key, one) for one in functions] == fresh


@pytest.mark.thorough
def test_ranks_are_kept_unless_one_has_sent_what_nobody_received() -> None:
    torch = pytest.importorskip("torch")
    space = calls._compile_namespace({"tools": [student_tools.source("ranks")], "driver": ""})
    functions: dict[str, Any] = {"__name__": "solution"}
    run_solution_code(SENDING, functions)
    pool, each = _Pool(space), [torch.zeros(1), torch.ones(1)]
    left = []
    for name in ("exchanges", "exchanges", "sends_too_much", "exchanges"):
        pool.run(functions[name], 2, [each], 5.0)
        left.append([rank.pid for rank in pool._ranks])
    pool.close()
    assert left[0] == left[1] != left[3]
    assert left[2] == []


SENDING = """
import torch
import torch.distributed as dist

def sends_too_much(x):
    if dist.get_rank() == 0:
        torch.work = dist.isend(x, 1)
    return x

def exchanges(x):
    rank, other = dist.get_rank(), torch.empty(1)
    work = dist.isend(x, 1 - rank)
    dist.recv(other, 1 - rank)
    work.wait()
    return other
"""
