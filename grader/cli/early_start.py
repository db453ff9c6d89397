"""Starts the process that kernels are forked from before the exam is parsed."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from grader.integrations.nbgrader import VARIABLES
from grader.runtime.kernels import LaunchSpec, start_early
from grader.runtime.sandbox import Sandbox

_TORCH = re.compile(rb"\b(?:import|from) torch\b")


def start_kernels_early(
    sandbox: Sandbox, device: str, out: Path, *, exam: Path, assignment: Path | None
) -> None:
    """Starts the process that kernels are forked from.

    Its settings and libraries are those that the text of *exam*, a release, or of an nbgrader
    *assignment* hints at.

    Parsing takes as long as the import of torch, so both go on at the same time. A wrong hint
    costs only time. If *out* has results, perhaps no kernel is needed, and torch is not imported.
    """
    text = _read_text(exam, assignment)
    has_torch = device == "cpu" and not out.exists() and _TORCH.search(text)
    spec = LaunchSpec(
        sandbox=sandbox,
        device=device,
        loopback=assignment is None and b"loopback" in text,
        variables=VARIABLES if assignment else (),
        imports=("numpy", "torch") if has_torch else (),
    )
    start_early(spec)


def _read_text(exam: Path, assignment: Path | None) -> bytes:
    """Returns the bytes of a release or of an assignment's notebooks.

    Leaves out files that can't be read, which are reported later.
    """
    if assignment is None:
        files = [exam / "release.json" if exam.is_dir() else exam]
    else:
        files = sorted(assignment.rglob("*.ipynb")) if assignment.is_dir() else [assignment]
    texts = []
    for file in files:
        with suppress(OSError):
            texts.append(file.read_bytes())
    return b"\n".join(texts)
