"""Code parts, and the judgments on notebooks that answer them in real kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.kinds import kinds
from grader.kinds.attempts import Code, CodeKey
from grader.kinds.measurement import Measurement, Step
from grader.model import Draw, Evidence, Judgment
from tests.helpers.notebooks import run

SCALED = '''\
"""Twice x; this text holds SECRET-OF-THE-SOLUTION."""

import numpy as np


def scaled(x, by=2):
    return x * by


def scaled_right_sum(x, by=2):
    return sum([x] * by, np.zeros_like(x))


def scaled_cases(rng, given):
    yield "edge", {"x": np.zeros(0), "by": 2}
    yield "edge", {"x": np.array([np.inf, -1.0, 0.0]), "by": 3}
    for _ in range(6):
        yield "random", {"x": rng.normal(size=5), "by": int(rng.integers(2, 9))}


def scaled_wrong_added(x, by=2):
    return x + by


def scaled_wrong_list(x, by=2):
    return list(x * by)


def scaled_wrong_two(x, by=2):
    return x * 2
'''
STARTER = "import numpy as np\n\ndef scaled(x, by=2):\n    ..."


def a_draw(solution: str, seed: int = 0) -> Draw:
    """A draw whose hidden cases come from this solution."""
    return Draw(seed=b"%d" % seed, scope={}, facts={}, solution=solution)


def a_code_key(solution: str = SCALED, seed: int = 0, **changes: Any) -> CodeKey:
    """The key of a code part, `scaled` unless it is another."""
    name = str(changes.get("id", "scaled"))
    usual = {"id": name, "ask": "?", "starter": STARTER.replace("scaled", name)}
    key = kinds.find("code").key(Code(**{**usual, **changes}), a_draw(solution, seed))
    assert isinstance(key, CodeKey)
    return key


def a_race_key(solution: str, setup: str, ratio: float = 5.0, **changes: Any) -> CodeKey:
    """The key of a measurement `scaled`: 0.4 of the points for being right, all for the ratio."""
    usual = {"id": "scaled", "ask": "?", "starter": STARTER, "setup": setup, "rounds": 8}
    part = Measurement(**{**usual, "speed": (Step(ratio=ratio, share=1.0),), **changes})
    key = kinds.find("measurement").key(part, a_draw(solution))
    assert isinstance(key, CodeKey)
    return key


def ran(*cells: str, keys: Mapping[str, CodeKey], **changes: Any) -> Evidence:
    """The evidence of these cells, in which the answers of these names are called."""
    call_plans = tuple(kinds.find(k.part.kind).call_plan(name, k) for name, k in keys.items())
    return run(*cells, asks=" ".join(keys), call_plans=call_plans, **changes)


def judged(evidence: Evidence, name: str, key: CodeKey) -> Judgment:
    """The judgment on one answer."""
    kind, raw = kinds.find(key.part.kind), evidence.answers[name].raw
    assert raw is not None, evidence.answers[name].absent
    return kind.judge(kind.read(raw, key), key)


def defined(**functions: str) -> list[str]:
    """A cell for each function of x and by, given as the body of its definition."""
    return [
        f"import numpy as np\ndef {name}(x, by=2):\n"
        + "\n".join(f"    {line}" for line in body.split("\n"))
        for name, body in functions.items()
    ]


def verdicts(functions: Mapping[str, str], key: CodeKey, **changes: Any) -> dict[str, Judgment]:
    """The judgment on each body, all run in one notebook, after what `before` defines."""
    before = changes.pop("before", "")
    keys = {f"q1_{name}": key for name in functions}
    cells = defined(**{f"q1_{name}": body for name, body in functions.items()})
    evidence = ran(*([str(before)] if before else []), *cells, keys=keys, **changes)
    return {name: judged(evidence, f"q1_{name}", key) for name in functions}


def with_solution(key: CodeKey, solution: str) -> CodeKey:
    """The same part with another solution file."""
    return replace(key, draw=replace(key.draw, solution=solution))


CODE_SPEC = """\
id: twice
title: Twice
family: training
prompt: Write a function.
parts:
  - id: scaled
    kind: code
    ask: Scale x.
    points: 4
    starter: |
      import numpy as np

      def scaled(x, by=2):
          ...
"""


CODE_EXAM = "id: quiz\ntitle: Quiz\nproblems: [twice]\n"
