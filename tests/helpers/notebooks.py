"""Small notebooks, submissions and jobs for tests: valid by default, change one thing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grader import notebook
from grader.model import Evidence, Job, Limits, Submission
from grader.notebook import Cell

QUICK = Limits(cell_seconds=5.0, notebook_seconds=30.0)


def a_notebook(*sources: str) -> bytes:
    """A notebook with one code cell per source; a source that starts with "# %%" is Markdown."""
    cells = [
        Cell(type="markdown" if s.startswith("# %%") else "code", source=s, id=f"c{n}")
        for n, s in enumerate(sources)
    ]
    return notebook.write(cells, {})


def a_submission(data: bytes = b"", **changes: Any) -> Submission:
    """Ada's, of these bytes."""
    made = Submission(student="ada", path="ada.ipynb", sha256=hashlib.sha256(data).hexdigest())
    return replace(made, **changes)


def a_job(*names: str, data: bytes = b"", limits: Limits = QUICK, **changes: Any) -> Job:
    """A job that asks for these names."""
    made = Job(submission=a_submission(data), names=names, limits=limits)
    return replace(made, **changes)


def run(
    *sources: str,
    asks: str,
    kernel: str | None = None,
    stop: Callable[[], bool] = bool,
    more_follow: bool = True,
    **changes: Any,
) -> Evidence:
    """The evidence of a notebook of these code cells, asked for the names in *asks*."""
    from grader.runtime.execute import execute
    from grader.runtime.kernels import USUAL

    data = a_notebook(*sources)
    job = a_job(*asks.split(), data=data, **changes)
    return execute(job, data, kernel=kernel or USUAL, more_follow=more_follow, stop=stop)


SENTENCE = "; submit the notebook that you were given"


def without_metadata(data: bytes) -> bytes:
    """As Colab saves it: without our metadata."""
    plain = json.loads(data)
    plain["metadata"] = {}
    return json.dumps(plain).encode()
