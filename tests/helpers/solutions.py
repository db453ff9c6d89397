"""Solution files of the bank, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from grader.bank.folders import Bank


def solution(path: str) -> ModuleType:
    """The solution of a problem, named as FAMILY/ID."""
    root = Path(next(iter(Bank.open().paths.values()))).parents[2]
    file = root / "solutions" / f"{path}.py"
    spec = importlib.util.spec_from_file_location(file.stem.replace("-", "_"), file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
