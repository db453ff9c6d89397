"""Describes how a kernel ended, in words that a student may read, and without our paths."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable

from grader.model import Outcome
from grader.runtime.kernels.client import one_line
from grader.runtime.kernels.contention import MACHINE, NO_MEMORY
from grader.runtime.sandbox import ScratchFolder

# A path in quotes, which may contain spaces, or without quotes.
_PATH = re.compile(
    r"""(?<!\w)(['"])(?:[A-Za-z]:)?[\\/].*?\1|(?<![\w.])(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+)+[\\/]?"""
)

# Only a path from the root: not "/student" in a URL or in the name of another folder.
_NOT_AFTER, _NOT_BEFORE = r"(?<![\w./-])", r"(?![\w-])"

_DID = {
    "processes": "started more processes",
    "files": "wrote more files",
    "locks": "held more file locks",
}


def describe_error(error: Exception) -> str:
    """Returns the first line of *error* for a student, without paths of the grader.

    Further lines say where the supervisor or the kernel failed; they belong in the log.
    """
    text = error.strerror if isinstance(error, OSError) else None
    first, _, _ = (text or str(error)).partition("\n")
    return one_line(_PATH.sub("…", first)) or type(error).__name__


def describe_end(status: int | None, hit: str | None) -> tuple[Outcome, str]:
    """Returns the outcome of a cell whose kernel ended with *status*, and what the cell did."""
    how = describe_status(status)
    if hit == "memory":
        return Outcome.OUT_OF_MEMORY, "used more memory than allowed"
    if hit == MACHINE:
        return Outcome.OUT_OF_MEMORY, NO_MEMORY
    if how == "SIGXCPU":
        return Outcome.TIMEOUT, "used up the notebook's CPU time"
    if hit == "processes" and how != "SIGKILL":  # the system refused more, and did not end it
        return Outcome.CRASHED, f"could not start more processes, and ended the kernel ({how})"
    if hit is not None:
        return Outcome.CRASHED, f"{_DID.get(hit, hit)} than allowed"
    return Outcome.CRASHED, f"ended the kernel ({how})"


def describe_status(status: int | None) -> str:
    """Returns the name of the signal in *status*, or else the exit status."""
    if status is None or status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def hide_folders(text: str, places: Iterable[ScratchFolder]) -> str:
    """Returns *text* without the paths of a kernel's folder, which mean nothing to students."""
    for place in places:
        work, root = (_NOT_AFTER + re.escape(str(path)) for path in (place.work, place.root))
        text = re.sub(work + re.escape(os.sep), "", text)
        text = re.sub(work + _NOT_BEFORE, ".", text)
        text = re.sub(root + _NOT_BEFORE, "~", text)
    return text
