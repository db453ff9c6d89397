"""Conformance checks for authors of sandboxes."""

from __future__ import annotations

import os
from pathlib import Path

from grader.model import Limits, Outcome
from grader.runtime.sandbox import WANTED, ScratchFolder, choose_sandbox, sandboxes
from grader.security.redteam.layers import attack_layers, run_cells

_NOTEBOOK = """\
import os, pathlib, sys, tempfile
home, work, temporary = str(pathlib.Path.home()), os.getcwd(), tempfile.gettempdir()
for folder in (home, work, temporary):
    pathlib.Path(folder, "x").write_text("x")
answer = 6 * 7
os.chmod(work, 0)
"""
_VARIABLE = "GRADER_CONFORMANCE"
_NAMES = ("home", "work", "temporary", "answer")


def check_sandbox(name: str) -> None:
    """Checks the contract of the registered sandbox *name*.

    Every wanted layer is named and every present layer withstands an attack; nothing of the
    grader's environment is inherited; a notebook runs, can write to its folders, and they are gone
    afterward. Raises AssertionError.
    """
    sandbox = sandboxes.find(name)
    layers = {layer.name: layer for layer in sandbox.layers()}
    _require(set(WANTED) <= set(layers), f"not all of {', '.join(WANTED)} are named")
    _require(all(layer.detail for layer in layers.values()), "a layer has no detail")
    os.environ[_VARIABLE] = "do not inherit"
    try:
        inherited = "do not inherit" in str(sandbox.environment(ScratchFolder(Path("/nowhere"))))
    finally:
        del os.environ[_VARIABLE]
    _require(not inherited, "the kernel's environment has variables of the grader's")
    for tried in attack_layers(choose_sandbox(name)):
        _require(
            not tried.layer.present or tried.has_held is not False,
            f"{tried.layer.name}: {tried.got}",
        )
    _check_notebook(name)


def _check_notebook(name: str) -> None:
    """Checks that a notebook runs, and that its folders are gone afterward."""
    evidence = run_cells([_NOTEBOOK], sandbox=name, limits=Limits(cell_seconds=20), names=_NAMES)
    _require(evidence.outcome is Outcome.FINISHED, str(evidence.note))
    values = {n: (answer.raw or {}).get("v") for n, answer in evidence.answers.items()}
    _require(values["answer"] == "42", str(evidence.cells[0].error))
    if sandboxes.find(name).plan()["view"] is None:  # otherwise the paths exist only inside
        from grader.runtime.kernels.pool import kernel_pool

        kernel_pool.wait_until_reaped()
        for folder in ("home", "work", "temporary"):
            _require(not Path(str(values[folder])).exists(), f"{folder} was not removed")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
