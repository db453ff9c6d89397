"""Runs code by a problem's author in this process: solutions are trusted like the grader's code."""

from __future__ import annotations

import hashlib
import linecache
from typing import Any


def run_solution_code(text: str, space: dict[str, Any], where: str = "") -> None:
    """Runs *text*, from a solution file or made from one, in the namespace *space*.

    `inspect` can find the source of its functions, as for a notebook's cells, because Triton reads
    it.
    """
    where = where or f"<solution {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    exec(compile(text, where, "exec"), space)  # noqa: S102


def line_of_error(error: BaseException, file: str) -> int | None:
    """Returns the last line of *file* in the traceback of *error*; None if there is none."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == file else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
