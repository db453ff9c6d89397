"""Banks, releases and submissions for tests: valid by default; a test changes one thing."""

from __future__ import annotations

from pathlib import Path

SPEC = """\
id: sample
title: Weights of a model on one GPU
family: memory-math
topics: [fsdp]
concepts: []
level: apply
minutes: 4
parameters:
  billions: {choice: [1.3, 2.7, 6.7, 13, 30]}
  gpus: {choice: [8, 16, 32]}
values:
  weights: 2 * byte * billions * 1e9
assumptions:
  - Weights are bf16, 2 bytes a parameter.
prompt: |
  A model with {{ billions }} billion parameters is split over {{ gpus }} GPUs.
parts:
  - id: share
    kind: numeric
    ask: How many bytes of weights does one GPU hold?
    points: 2
    unit: GB
    answer: weights / gpus
    tolerance: {relative: 1%}
    mistakes:
      - id: fp32
        value: 2 * weights / gpus
        credit: 25%
        feedback: That counts 4 bytes a parameter.
  - id: bound
    kind: choice
    ask: Which number format is it?
    points: 1
    options:
      - {id: bf16, text: bfloat16, correct: true}
      - {id: fp32, text: float32, feedback: That has 4 bytes.}
      - {id: fp8, text: 8-bit float, feedback: That has 1 byte.}
explanation: |
  One GPU holds {{ weights | unit("GB", 4) }} / {{ gpus }} = {{ share | unit("GB", 4) }}.
"""

SOLUTION = '''\
"""Counts the bytes of every parameter block by block."""


def solve(given):
    blocks = [2 * given["billions"] * 1e9 / 64 for _ in range(64)]
    return {"share": sum(blocks) / given["gpus"] / 1e9, "bound": "bf16"}
'''

SET = """\
id: quiz
title: A quiz
minutes: 10
problems:
  - sample
"""

ROSTER = "id,name\nada,Ada Lovelace\nbo,Bo Ek\ncy,Cy Young\n"


def a_bank(
    folder: Path, spec: str = SPEC, solution: str | None = SOLUTION, exam: str = SET
) -> Path:
    """A bank in *folder* with one problem, its solution and one set."""
    problem = next(line for line in spec.splitlines() if line.startswith("id:"))[3:].strip()
    family = next(line for line in spec.splitlines() if line.startswith("family:"))[7:].strip()
    home = folder / "problems" / family
    home.mkdir(parents=True, exist_ok=True)
    (home / f"{problem}.yaml").write_text(spec, encoding="utf-8")
    if solution is not None:
        other = folder / "solutions" / family
        other.mkdir(parents=True, exist_ok=True)
        (other / f"{problem}.py").write_text(solution, encoding="utf-8")
    sets = folder / "problems" / "sets"
    sets.mkdir(exist_ok=True)
    (sets / "quiz.yaml").write_text(exam, encoding="utf-8")
    return folder


def a_roster(folder: Path, text: str = ROSTER) -> Path:
    """A roster file."""
    path = folder / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return path


ESSAY = SPEC.replace(
    "explanation: |",
    "  - {id: why, kind: explanation, ask: 'Why?', points: 4}\nexplanation: |",
)
