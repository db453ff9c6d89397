"""Students' code is looked at as far as it matters, by what it says and by what it calls."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from grader import notebook
from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds import kinds, student_tools
from grader.kinds.attempts import CodeKey
from grader.kinds.hidden import analysis, statements
from grader.kinds.hidden.analysis import NotAnalyzedError
from grader.kinds.hidden.doubtful_use import find_doubtful_use
from grader.kinds.hidden.forbidden_use import find_forbidden_use
from grader.kinds.hidden.source import MOST_CHARACTERS, extract_definition
from grader.model import Verdict
from grader.wire.watch import LOOPED, MOST_EVENTS, Watch
from tests.helpers.code import a_code_key, defined, judged, ran
from tests.helpers.commands import ok

FORBIDS = a_code_key(forbid=("math.fsum", "loops"))
RIGHT = "def q1_f(x, by=2): return x * by"


# -- how much is looked at


def test_long_cells_that_are_not_used_do_not_count() -> None:
    data = f"TABLE = [{'1, ' * MOST_CHARACTERS}]"
    tool = student_tools.source("warps")
    cells = [data, tool, "import numpy as np", RIGHT, *[f"# {'x' * 30_000}\nprint(np)"] * 9]
    assert analysis.extract_definition(cells, "q1_f") == RIGHT


@pytest.mark.thorough
def test_code_that_is_too_long_says_so() -> None:
    data = f"TABLE = [{'1, ' * MOST_CHARACTERS}]"
    with pytest.raises(NotAnalyzedError, match="more than 100,000 characters"):
        analysis.extract_definition([data, "def q1_f(x): return TABLE"], "q1_f")


@pytest.mark.thorough
def test_what_is_too_long_to_look_at_is_left_to_a_person_with_the_reason() -> None:
    data = f"TABLE = [{'1, ' * MOST_CHARACTERS}]"
    cell = "def q1_f(x, by=2): return x * by if TABLE else None"
    wrong = "def q1_g(x, by=2): return x + by if TABLE else None"
    evidence = ran(data, cell, wrong, keys={"q1_f": FORBIDS, "q1_g": FORBIDS})
    judgment = judged(evidence, "q1_f", FORBIDS)
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)
    assert "more than 100,000 characters of code; a person will review it" in judgment.note
    assert judged(evidence, "q1_g", FORBIDS).share == 0
    free = a_code_key()
    assert judged(evidence, "q1_f", free).share == 1
    raw = evidence.answers["q1_f"].raw
    kind = kinds.find("code")
    assert raw
    assert kind.format_value(kind.read(raw, free), free) == "code"


def test_evidence_from_before_without_a_source_is_left_to_a_person() -> None:
    raw = dict(ran(RIGHT, keys={"q1_f": FORBIDS}).answers["q1_f"].raw or {})
    kind = kinds.find("code")
    judgment = kind.judge(kind.read({**raw, "source": ""}, FORBIDS), FORBIDS)
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)
    assert "its code was not found" in judgment.note


@pytest.fixture(scope="module")
def long_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered lab of 26 code problems, most with forbidden functions, as `solve` fills it in."""
    home = tmp_path_factory.mktemp("lab")
    shipped, bank = Bank.open(), home / "bank"
    for name in ("problems", "solutions"):
        shutil.copytree(name, bank / name)
    texts = {name: path.read_text() for name, path in shipped.paths.items()}
    fit = [
        n for n, t in texts.items() if "kind: code" in t and not re.search("cuda$|needs:", t, re.M)
    ]
    chosen = sorted(fit, key=lambda name: ("forbid:" not in texts[name], name))[:26]
    listed = "".join(f"  - problem: {name}\n" for name in chosen)
    (bank / "problems/sets/long.yaml").write_text(f"id: long\ntitle: Long\nproblems:\n{listed}")
    (home / "roster.csv").write_text("id\nada\n")
    release = home / "release"
    ok("render", "long", "--roster", home / "roster.csv", "--out", release, "--bank", bank)
    ok("solve", release, "--student", "ada", "--out", home / "in/ada.ipynb", "--bank", bank)
    return home


@pytest.mark.thorough
def test_every_function_of_a_long_lab_is_found(long_lab: Path) -> None:
    cells = [cell.source for cell in notebook.read((long_lab / "in/ada.ipynb").read_bytes()).cells]
    assert sum(map(len, cells)) > MOST_CHARACTERS
    names = re.findall(r"^(?:def|class) (q\d+_\w+)", "\n".join(cells), re.M)
    assert len(names) > 26
    for name in names:
        source = analysis.extract_definition(cells, name)
        assert f" {name}" in source
        assert len(source) < MOST_CHARACTERS


@pytest.mark.slow
def test_a_long_lab_that_is_solved_earns_all(long_lab: Path) -> None:
    release, out = long_lab / "release/release.json", long_lab / "results"
    ok("grade", long_lab / "in", "--release", release, "--out", out, "--bank", long_lab / "bank")
    grade = json.loads((out / "grades/ada.json").read_text())
    assert grade["complete"]
    assert grade["score"] == grade["max_score"] > 100


# -- in a process that can be ended


def test_long_code_is_analyzed_in_another_process_with_the_same_result() -> None:
    source = f"import math\ndef f(x): return math.fsum(x)\n{'# more' * 10_000}"
    assert len(source) > analysis.MOST_HERE
    short = source[: analysis.MOST_HERE]
    assert analysis.extract_definition([source], "f") == analysis.extract_definition([short], "f")
    forbidden = ("math.fsum",)
    review = analysis.review_source(source, "f", short, forbidden)
    assert review == analysis.review_source(short, "f", short, forbidden)
    assert review == {"is_starter": True, "broken_rule": "`math.fsum`", "doubt": None}
    assert analysis.functions_of(source) == analysis.functions_of(short)


def test_code_that_takes_too_long_is_given_up_and_the_next_is_analyzed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = 'f = f"' + "{a}" * 10_000 + '"'
    with monkeypatch.context() as patched:
        patched.setattr(analysis, "SECONDS", 0.001)
        for _ in range(2):  # the second time without a try
            with pytest.raises(NotAnalyzedError, match=r"took more than 0\.001 s"):
                analysis.extract_definition([slow], "f")
    assert analysis.extract_definition([slow + " "], "f") == slow + " "
    assert analysis.extract_definition(["#" * 30_000, "f = 1"], "f") == "f = 1"


def test_the_process_for_long_code_is_there_before_it_is_needed() -> None:
    analysis._process_of_thread().end()
    analysis.start_early(["f = 1"])
    assert analysis._process_of_thread()._process is None
    analysis.start_early(["#" * 30_000, "f = 1"])
    process = analysis._process_of_thread()._process
    assert process is not None
    assert analysis.extract_definition(["#" * 30_000, "f = 1"], "f") == "f = 1"
    assert analysis._process_of_thread()._process is process


def test_a_process_that_dies_costs_one_text_alone() -> None:
    worker = analysis._process_of_thread()
    text = "#" * 30_000
    analysis.extract_definition([text, "f = 1"], "f")
    process = worker._process
    assert process is not None
    os.kill(process.pid, 9)
    process.wait()
    assert analysis.extract_definition([text, "f = 2"], "f") == "f = 2"


def test_a_deep_text_is_a_reason_and_no_fault() -> None:
    source = "f = " + "-" * 60_000 + "1"
    assert analysis.extract_definition([source], "f") == ""  # which no Python can run


@pytest.mark.parametrize("times", [3, statements._TRIES])
def test_threads_that_parse_while_garbage_is_collected_do_not_fail(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    left, parse = [times], ast.parse

    def disturbed(text: str) -> ast.Module:
        left[0] -= 1
        if left[0] >= 0:
            raise SystemError("AST constructor recursion depth mismatch (before=18, after=12)")
        return parse(text)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert extract_definition([f"def f(): return 'disturbed {times}'"], "f").startswith("def f()")


# -- by what it says

OPTIM = ("torch.optim",)
ROUNDABOUT = {
    "aliased": "import torch\ng = getattr\ng(torch, 'op' + 'tim')",
    "imported as": "from operator import attrgetter as a\na('op' + 'tim')(t)",
    "attrgetter": "import operator, torch\noperator.attrgetter('op' + 'tim')(t)",
    "passed on": "import operator, torch\noperator.call(getattr, torch, 'op' + 'tim')",
    "resolve_name": "import pkgutil\npkgutil.resolve_name(name)",
    "resolve_name itself": "from pkgutil import resolve_name as r\nr('x')",
    "by the text": "import torch\nf('torch.optim.Adam')",
    "source": "import torch\ntorch.jit.CompilationUnit(text)",
    "jit": "from torch import jit\njit.script(f)",
    "by order": "match torch:\n    case Any(o): pass",
    "dict": "import torch\nd = torch.__dict__\nd['op' + 'tim']",
    "modules": "from sys import modules as m\nm[name]",
    "frames": "import sys\nsys._getframe(1)",
    "unwatched": "import sys\nsys.setprofile(None)",
    "formatter": "import string\nstring.Formatter().get_field(name, [torch], {})",
    "pickled": "import pickle\npickle.loads(data)",
    "evaluated": "e = eval\ne(text)",
}
PLAIN = {
    "getattr": "value = getattr(config, 'size', 0)",
    "modules": "for m in model.modules(): m.train()",
    "compiled": "import re\np = re.compile('a')",
    "match": "match x:\n    case int(n): pass\n    case [a, b]: pass\n    case {'a': 1}: pass",
    "message": "raise ValueError('use no torch.optim here')",
    "numpy": "import numpy as np\nnp.einsum('ij->i', x)",
    "dist": "import torch.distributed as dist\ndist.send(x, 1)",
}


@pytest.mark.parametrize("code", ROUNDABOUT.values(), ids=ROUNDABOUT)
def test_what_reaches_things_in_roundabout_ways_is_undecidable(code: str) -> None:
    assert find_doubtful_use(code, OPTIM) or find_forbidden_use(code, OPTIM)
    assert find_doubtful_use(code, ()) is None


@pytest.mark.parametrize("code", PLAIN.values(), ids=PLAIN)
def test_plain_code_is_decidable(code: str) -> None:
    assert find_doubtful_use(code, OPTIM) is None
    assert find_forbidden_use(code, OPTIM) is None


def test_a_pattern_takes_an_attribute() -> None:
    assert (
        find_forbidden_use("match torch:\n    case object(optim=o): pass", OPTIM) == "`torch.optim`"
    )


@pytest.mark.thorough
def test_what_is_right_in_the_bank_is_decidable() -> None:
    bank, seen = Bank.open(), 0
    for name, path in bank.paths.items():
        if "forbid:" not in path.read_text():
            continue
        keys = draw(bank.problem(name), sample_seed(name, 0), bank.facts).keys
        for key in keys.values():
            if not isinstance(key, CodeKey) or not key.part.forbid:
                continue
            text, part = key.draw.solution, key.part.id
            rights = [part, *re.findall(rf"^def ({part}_right_\w+)", text, re.M)]
            for right in rights:
                source = extract_definition([text], right)
                assert find_doubtful_use(source, key.part.forbid) is None, (name, right)
                assert find_forbidden_use(source, key.part.forbid) is None, (name, right)
                seen += 1
    assert seen > 40


# -- by what it calls


def watched(source: str, *rules: str) -> list[str]:
    """What is seen to be used when `f()` of a notebook's cell is called."""
    space: dict[str, Any] = {}
    exec(compile(source, "<ipython-input-1-abc>", "exec"), space)
    with Watch([*rules]) as watch:
        space["f"]()
    return watch.used


@pytest.mark.parametrize(
    "rule, source",
    [
        ("math.fsum", "import math\ng = getattr(math, 'fs' + 'um')\ndef f(): g([1.0])"),
        ("fractions", "import fractions\ndef f(): fractions.Fraction(1, 3)"),
        ("fractions.Fraction", "import fractions as x\ndef f(): x.Fraction(1, 3)"),
        ("float.as_integer_ratio", "def f(): (0.5).as_integer_ratio()"),
        ("numpy.sum", "import numpy as np\ndef f(): np.zeros(3).sum()"),
        ("numpy.sum", "import numpy as np\ndef f(): np.sum(np.zeros(3))"),
        ("statistics", "import statistics\ndef f(): statistics.mean([1, 2])"),
        ("loops", f"def g(m): return ''\nimport re\ndef f(): re.sub('a', g, 'a' * {LOOPED})"),
        ("loops", f"def g(n): return n and g(n - 1)\ndef f(): g({LOOPED})"),
        ("loops", f"def f(): sorted(range({LOOPED}), key=lambda i: -i)"),
    ],
)
def test_what_is_called_is_seen(rule: str, source: str) -> None:
    assert watched(source, rule) == [rule]
    assert watched(source, "torch.softmax") == []


def test_what_a_library_calls_is_not_the_students() -> None:
    assert watched("import numpy as np\ndef f(): np.average(np.zeros(3))", "numpy.sum") == []
    assert watched("import random\ndef f(): random.gauss(0, 1)", "math") == []


def test_watching_ends_after_a_while() -> None:
    source = "import math\ndef f():\n    for _ in range({}): abs(1)\n    math.fsum([1.0])"
    assert watched(source.format(9), "math.fsum") == ["math.fsum"]
    assert watched(source.format(MOST_EVENTS), "math.fsum") == []


ROUTES = {
    "getattr": "import math\ng = getattr\nreturn x * by + 0 * g(math, 'fs' + 'um')([0.0])",
    "pattern": "import math\nmatch math:\n    case object(fsum=g): return x * by + 0 * g([0.0])",
    "resolve": "import pkgutil\nf = pkgutil.resolve_name('ma' + 'th:fs' + 'um')\n"
    "return x * by + f([0.0])",
    "callback": "import re\nseen = []\nre.sub('a', lambda m: seen.append(1) or '', 'a' * 200)\n"
    "return x * by",
    "silenced": "import sys\nsys.setprofile(None)\nreturn x * by",
}  # fmt: skip
EARNS = {"getattr": 0.0, "pattern": 0.0, "resolve": 0.0, "callback": None, "silenced": None}


def test_no_way_around_a_rule_earns_anything() -> None:
    keys = {f"q1_{name}": FORBIDS for name in ROUTES} | {"q1_right": FORBIDS}
    cells = defined(**{f"q1_{name}": body for name, body in ROUTES.items()})
    evidence = ran(*cells, RIGHT.replace("q1_f", "q1_right"), keys=keys)
    found = {name: judged(evidence, f"q1_{name}", FORBIDS) for name in ROUTES}
    assert {name: judgment.share for name, judgment in found.items()} == EARNS
    assert "used it at run time" in found["getattr"].note
    assert "called many times" in found["callback"].note
    assert all(judged(evidence, name, a_code_key()).share == 1 for name in keys)
    assert judged(evidence, "q1_right", FORBIDS).share == 1
