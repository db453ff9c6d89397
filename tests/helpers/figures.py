"""The sample problem with figures."""

from __future__ import annotations

from pathlib import Path

from grader.bank.problem import load_problem
from grader.draw import draw, sample_seed
from grader.model import Variant
from tests.helpers.banks import SOLUTION, SPEC

STACK = """\
figures:
  - id: memory
    type: stack
    alt: Weights on {{ gpus }} GPUs.
    categories: [Weights]
    bars:
      - {label: all, amounts: [weights]}
"""
ASKED = STACK + "    show: prompt\n"


def write_bank(folder: Path, figures: str) -> Path:
    """Writes the sample problem with *figures*, and returns the path of its spec."""
    spec = folder / "problems" / "memory-math" / "sample.yaml"
    solution = folder / "solutions" / "memory-math" / "sample.py"
    for path, text in ((spec, SPEC + figures), (solution, SOLUTION)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return spec


def variant_of(folder: Path, figures: str) -> Variant:
    problem, _ = load_problem(write_bank(folder, figures))
    return draw(problem, sample_seed("sample", 0), {})
