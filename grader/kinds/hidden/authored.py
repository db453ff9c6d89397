"""Code that a problem's author wrote, run in this process: solutions are as trusted as we are."""

from __future__ import annotations

import hashlib
import linecache
from typing import Any


def run_authored(text: str, space: dict[str, Any], where: str = "") -> None:
    """Runs *text*, from a solution file or of an answer made from one, in *space*.

    `inspect` finds the source of its functions, as it does for a notebook's cells: Triton reads it.
    """
    where = where or f"<solution {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    exec(compile(text, where, "exec"), space)  # noqa: S102


def line_raised(error: BaseException, file: str) -> int | None:
    """The last line of *file* that *error* came through; None when it came through none."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == file else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
