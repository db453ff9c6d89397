"""A file that is broken stops nobody who does not need it: the rest of the bank is listed,
verified, shown and rendered, and the broken file is named with its line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.bank.folders import Bank
from grader.bank.index import BankIndex
from grader.bank.listing import read_heads
from grader.cli import grader
from tests.helpers.banks import SET, SOLUTION, SPEC, a_bank

HOME = Path("problems") / "memory-math"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(grader, [str(a) for a in arguments], standalone_mode=False)


def named(name: str, spec: str = SPEC) -> str:
    return spec.replace("id: sample", f"id: {name}")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


BROKEN = {
    "not YAML": (named("broken").replace("topics: [fsdp]", "topics: [fsdp"), ":5:9: not YAML"),
    "a tab": (named("broken").replace("  billions:", "\tbillions:"), ":9:1: not YAML"),
    "not a problem": ("- a\n- list\n", ":1:1: expected keys and values"),
    "empty": ("", ":1:1: expected keys and values"),
    "an unknown key": (named("broken").replace("minutes:", "minuts:"), ":7:1: unknown key"),
    "no title": (named("broken").replace("title:", "topic: x\ntitle:", 0).replace(
        "title: Weights of a model on one GPU\n", ""), "'title' is missing"),
    "a kind that is none": (named("broken").replace("kind: choice", "kind: choise"), "'choise'"),
    "a level that is none": (named("broken").replace("level: apply", "level: hard"), ":6:8:"),
    "no points": (named("broken").replace("points: 2", "points: 0"), "worth 0 points"),
    "another family": (named("broken").replace("family: memory-math", "family: numerics"),
                       "the family 'numerics' is not the folder name"),
    "another id": (SPEC, "the id 'sample' is not the file name 'broken'"),
    "no UTF-8": ("\udcff", "is not UTF-8"),
}  # fmt: skip


@pytest.fixture(params=BROKEN)
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A bank with the sound problem `sample` and a broken one, and what is said of that."""
    text, what = BROKEN[request.param]
    bank = a_bank(tmp_path)
    (bank / HOME / "broken.yaml").write_bytes(text.encode(errors="surrogateescape"))
    return bank, what


def test_the_rest_is_listed_and_the_broken_file_is_named_with_its_line(
    broken: tuple[Path, str],
) -> None:
    bank, what = broken
    result = run("list", "--bank", bank)
    assert result.return_value == 1
    assert "sample " in result.stdout
    assert "1 problem. " in result.stdout
    assert what in result.stderr
    assert "broken.yaml" in result.stderr
    assert "\n  fix: " in result.stderr


@pytest.mark.thorough
def test_the_list_agrees_with_what_is_loaded() -> None:
    bank = Bank.open()
    heads, errors = read_heads(bank)
    assert not errors
    assert [(h.id, h.title, h.family, h.level, h.minutes, h.points, h.topics, h.concepts,
             tuple((x.id, x.kind, x.points) for x in h.parts)) for h in heads] == [
        (p.id, p.title, p.family, p.level, p.minutes, sum(x.points for x in p.parts), p.topics,
         p.concepts, tuple((x.id, x.kind, x.points) for x in p.parts))
        for p in bank.problems()
    ]  # fmt: skip


@pytest.mark.thorough
def test_a_list_loads_no_validator_no_template_and_no_kind() -> None:
    code = (
        "import sys\nfrom grader.cli import grader\n"
        "grader.main(['list', '--json'], standalone_mode=False)\n"
        "heavy = {'pydantic', 'jinja2', 'numpy', 'grader.kinds', 'grader.bank.folders'}\n"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)) > 100


def test_json_of_a_list_holds_the_sound_problems(tmp_path: Path) -> None:
    bank = a_bank(tmp_path)
    write(bank / HOME / "broken.yaml", "a: [")
    result = run("list", "--json", "--bank", bank)
    assert [p["id"] for p in json.loads(result.stdout)] == ["sample"]
    assert result.return_value == 1


def a_bank_of_faults(folder: Path) -> Path:
    """Every fault that a bank can have, beside what is sound."""
    bank = a_bank(folder)
    write(bank / HOME / "broken.yaml", "id: broken\ntitle: [\n")
    write(bank / HOME / "twice.yaml", named("twice"))
    write(
        bank / "problems" / "training" / "twice.yaml",
        named("twice").replace("family: memory-math", "family: training"),
    )
    write(bank / "problems" / "facts" / "mine.yaml", "a: [\n")
    write(bank / "problems" / "sets" / "bad.yaml", "id: bad\n title: x\n")
    code = named("lost").replace("    kind: choice\n", "    kind: choice\n")
    write(bank / HOME / "lost.yaml", code.replace('unit("GB", 4) }} /', 'unit("GB", 4) }} /'))
    (bank / "solutions" / "memory-math" / "lost.py").write_bytes(b"\xff")
    needs = named("needs").replace("weights: 2 *", 'weights: fact("nothing", "x") *')
    write(bank / HOME / "needs.yaml", needs)
    write(bank / "solutions" / "memory-math" / "needs.py", SOLUTION)
    uses = named("uses").replace("weights: 2 *", 'weights: fact("h100-sxm", "x") *')
    write(bank / HOME / "uses.yaml", uses)
    write(bank / "solutions" / "memory-math" / "uses.py", SOLUTION)
    return bank


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_bank_of_faults(tmp_path_factory.mktemp("faults"))


@pytest.mark.thorough
def test_verify_reports_each_fault_and_verifies_the_rest(faults: Path) -> None:
    result = run("verify", "--json", "--no-kernel", "--seeds", 20, "--bank", faults)
    problems = {Path(p["id"]).name: p for p in json.loads(result.stdout)["problems"]}
    assert result.return_value == 1
    assert [name for name, p in problems.items() if p["holds"]] == ["sample"]
    for name, file in {
        "broken": "broken.yaml:3:1: not YAML",
        "twice": "training/twice.yaml",
        "mine.yaml": "mine.yaml:2:1: not YAML",
        "bad.yaml": "bad.yaml:2:7: not YAML",
        "needs": "mine.yaml:2:1: not YAML",
    }.items():
        assert any(file in error for error in problems[name]["errors"]), problems[name]
    # An item that another file has does not need the broken one.
    assert all("mine.yaml" not in e for e in problems["uses"]["errors"])
    assert "can't be loaded" in problems["lost"]["findings"][0]["what"]


def test_after_an_error_no_seeds_are_counted(faults: Path) -> None:
    result = run("verify", "broken", "--no-kernel", "--bank", faults)
    assert result.stdout.splitlines()[0] == "FAIL broken"
    assert "0 seeds" not in result.stdout
    assert result.stdout.splitlines()[-1] == "0 of 1 problem passed."


@pytest.mark.thorough
def test_verify_runs_the_kernel_for_the_sound_ones_beside_a_broken_one(tmp_path: Path) -> None:
    bank = a_bank(tmp_path)
    write(bank / HOME / "broken.yaml", "a: [")
    result = run("verify", "--seeds", 20, "--bank", bank)
    assert result.exception is None
    assert "ok   sample" in result.stdout
    assert result.stdout.splitlines()[-1] == "1 of 2 problems passed."


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "sample"),
        ("show", "sample", "--key"),
        ("render", "quiz", "--student", "ada", "--out", "release"),
    ],
)
def test_what_is_sound_is_shown_and_rendered(
    faults: Path, arguments: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, "--bank", faults)
    assert result.exception is None, result.exception


def test_coverage_counts_the_sound_ones(faults: Path) -> None:
    result = run("coverage", "--bank", faults)
    assert result.return_value == 1
    assert "all " in result.stdout
    assert "broken.yaml:3:1: not YAML" in result.stderr


def test_sets_that_can_be_read_are_listed(faults: Path) -> None:
    result = run("list", "--sets", "--bank", faults)
    assert result.return_value == 1
    assert "quiz " in result.stdout
    assert "bad.yaml:2:7: not YAML" in result.stderr


@pytest.mark.parametrize("name", ["broken", "twice", "needs"])
def test_what_is_asked_for_and_broken_is_an_error_with_its_file(faults: Path, name: str) -> None:
    result = run("show", name, "--bank", faults)
    assert result.exception is not None
    assert ".yaml" in str(result.exception)
    assert "fix:" in str(result.exception)


def test_a_solution_that_is_no_text_is_an_error_with_its_file(tmp_path: Path) -> None:
    spec = SPEC.split("parts:")[0] + (
        "parts:\n  - {id: f, kind: code, ask: Write f., function: f(x), timeout: 1}\n"
    )
    bank = a_bank(tmp_path, spec)
    (bank / "solutions" / "memory-math" / "sample.py").write_bytes(b"\xff\xfe")
    result = run("show", "sample", "--bank", bank)
    assert isinstance(result.exception, Exception)
    assert "Traceback" not in str(result.exception)
    assert type(result.exception).__name__ == "SpecErrors"


def test_concepts_without_a_family_are_an_error_with_their_line(tmp_path: Path) -> None:
    bank = a_bank(tmp_path)
    write(bank / "problems" / "concepts.yaml", "a: {family: training}\nb: {topic: x}\n")
    result = run("coverage", "--bank", bank)
    assert "concepts.yaml:2:4: the concept 'b' has no family" in str(result.exception)


# -- What can't be read

# Root reads everything, unless it gives the capabilities up that override permissions.
PLAINLY = """
import ctypes, os, sys
if os.geteuid() == 0:
    dropped = [ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) for capability in (1, 2)]
    if any(dropped): sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "grader", *sys.argv[1:]])
"""


def run_plainly(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command for a user whom permissions hold off."""
    if sys.platform != "linux":
        pytest.skip("permissions differ here")
    done = subprocess.run(
        [sys.executable, "-c", PLAINLY, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip("root may not give up its capabilities here")
    return done


@pytest.mark.parametrize("folder", [".", "problems"])
def test_a_bank_that_can_not_be_opened_is_not_called_no_bank(tmp_path: Path, folder: str) -> None:
    bank = a_bank(tmp_path / "bank")
    (bank / folder).chmod(0)
    done = run_plainly("list", "--bank", bank)
    assert done.returncode == 2
    assert "permission denied" in done.stderr
    assert "check its permissions" in done.stderr
    assert "is not a bank" not in done.stderr


@pytest.mark.thorough
def test_a_folder_or_file_that_can_not_be_read_is_named_after_the_rest(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank")
    write(bank / HOME / "closed.yaml", named("closed"))
    (bank / HOME / "closed.yaml").chmod(0)
    write(bank / "problems" / "training" / "x.yaml", named("x"))
    (bank / "problems" / "training").chmod(0)
    for command in ("list", "coverage"):
        done = run_plainly(command, "--bank", bank)
        assert done.returncode == 1
        assert "closed.yaml: can't read the file: permission denied" in done.stderr
        assert "problems/training: can't read the folder: permission denied" in done.stderr
    missing = run_plainly("show", "x", "--bank", bank)
    assert "there is no problem 'x'" in missing.stderr
    assert "problems/training: can't read the folder" in missing.stderr


# -- Families


def serving(bank: Path, declared: str | None) -> Path:
    spec = SPEC.replace("family: memory-math", "family: serving")
    a_bank(bank, spec)
    if declared is not None:
        write(bank / "problems" / "families.yaml", declared)
    return bank


@pytest.mark.thorough
def test_a_bank_declares_its_families(tmp_path: Path) -> None:
    bank = serving(tmp_path, "serving: Serving models\n")
    listed = run("list", "--family", "serving", "--json", "--bank", bank)
    assert [p["id"] for p in json.loads(listed.stdout)] == ["sample"]
    assert run("verify", "--no-kernel", "--seeds", 20, "--bank", bank).return_value == 0
    schema = json.loads(run("schema", "--bank", bank).stdout)
    assert "serving" in schema["properties"]["family"]["enum"]
    assert "serving" not in json.loads(run("schema").stdout)["properties"]["family"]["enum"]
    assert run("new", "serving/batches", "--into", bank).exception is None
    assert "batches" in BankIndex.open([bank]).paths


def test_a_release_keeps_a_family_that_other_machines_do_not_declare(tmp_path: Path) -> None:
    bank = serving(tmp_path / "bank", "serving: Serving models\n")
    rendered = run("render", "quiz", "--student", "ada", "--out", tmp_path / "r", "--bank", bank)
    assert rendered.exception is None
    shutil.rmtree(bank)
    key = run("key", tmp_path / "r", "--student", "ada", "--json")
    assert set(json.loads(key.stdout)) == {"q1_share", "q1_bound"}


def test_a_spec_named_by_its_path_may_use_its_own_banks_families(tmp_path: Path) -> None:
    bank = serving(tmp_path, "serving: Serving models\n")
    assert run("show", bank / "problems" / "serving" / "sample.yaml").exception is None


def test_a_family_that_nobody_declares_says_how(tmp_path: Path) -> None:
    bank = serving(tmp_path, None)
    result = run("list", "--bank", bank)
    assert "sample.yaml:3:9: 'family' can't be 'serving'" in result.stderr
    assert "add 'serving: Its Title' to problems/families.yaml" in result.stderr
    wrong = run("list", "--family", "trainin", "--bank", bank)
    assert "did you mean 'training'?" in str(wrong.exception)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("serving: [\n", "families.yaml:2:1"),
        ("- serving\n", "families.yaml:1:1"),
        ("serving: 3\n", "families.yaml:1:1"),
        ("serving: Serving\nSets Of: x\n", "families.yaml:2:1"),
        ("sets: x\n", "families.yaml:1:1"),
    ],
)
def test_broken_declarations_are_named_once_and_stop_nothing(
    tmp_path: Path, text: str, place: str
) -> None:
    bank = serving(tmp_path, text)
    result = run("list", "--bank", bank)
    assert "sample " in result.stdout
    assert result.stderr.count("fix:") == 1
    assert place in result.stderr
    assert run("show", "sample", "--bank", bank).exception is None


# -- Errors about ids name the banks


@pytest.mark.parametrize(
    ("arguments", "noun"),
    [
        (("show", "no-such-thing"), "problem 'no-such-thing'"),
        (("verify", "no-such-thing"), "problem 'no-such-thing'"),
        (("render", "zzz", "--student", "a", "--out", "x"), "set 'zzz'"),
    ],
)
def test_an_unknown_id_names_the_banks_that_were_searched(
    arguments: Sequence[str], noun: str, tmp_path: Path
) -> None:
    own = str(run(*arguments).exception)
    assert f"there is no {noun} in the bank that comes with the package" in own
    assert "--bank DIR or GRADER_BANK" in own
    both = str(run(*arguments, "--bank", a_bank(tmp_path)).exception)
    assert f"in '{tmp_path}' or the bank that comes with the package" in both


def test_a_set_names_the_banks_in_which_its_problem_is_missing(tmp_path: Path) -> None:
    bank = a_bank(tmp_path, exam=SET.replace("sample", "no-such-thing"))
    result = run("render", "quiz", "--student", "a", "--out", tmp_path / "x", "--bank", bank)
    assert f"quiz.yaml:5:5: there is no problem 'no-such-thing' in '{tmp_path}'" in str(
        result.exception
    )


def test_the_list_knows_every_kind_of_the_package() -> None:
    from grader.bank.heads import _KINDS
    from grader.kinds import kinds

    assert {name for name in kinds if kinds.find(name).__module__.startswith("grader.")} == _KINDS
