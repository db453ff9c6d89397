"""Writes the two files of a new problem from a commented example."""

from __future__ import annotations

import re
from pathlib import Path

from grader.bank.families import family_fix
from grader.bank.index import BankIndex, own_bank
from grader.errors import SetupError
from grader.files import write_atomic

_NAME = re.compile(r"([a-z-]+)/([a-z0-9]+(?:-[a-z0-9]+)*)\Z")


def write_skeleton(name: str, into: Path) -> tuple[Path, Path]:
    """Writes a new spec and its solution, and returns their paths.

    Raises SetupError for an invalid name, or if a file exists already.
    """
    match = _NAME.match(name)
    if not match:
        raise SetupError(
            f"'{name}' is not FAMILY/ID",
            fix="use lowercase letters, digits, and hyphens, such as memory-math/kv-cache-offload",
        )
    family, problem_id = match.groups()
    families = BankIndex((into,)).families
    if family not in families:
        raise SetupError(f"there is no family '{family}'", fix=family_fix(family, families))
    problem = into / "problems" / family / f"{problem_id}.yaml"
    solution = into / "solutions" / family / f"{problem_id}.py"
    for path in (problem, solution):
        if path.exists():
            raise SetupError("this file exists already", where=str(path), fix="choose another id")
    skeleton = own_bank() / "templates" / "new"
    text = (skeleton / "problem.yaml").read_text(encoding="utf-8")
    text = text.replace("{{ID}}", problem_id).replace("{{FAMILY}}", family)
    write_atomic(problem, text.encode())
    write_atomic(solution, (skeleton / "solution.py").read_bytes())
    return problem, solution
