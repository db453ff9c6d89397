"""`grader` with a cold kernel for every notebook, as where forking is not safe."""

from __future__ import annotations

from typing import Any

from grader.cli import main
from grader.grading import batch
from grader.runtime.execute import execute


def _cold(*arguments: Any, **options: Any) -> Any:
    return execute(*arguments, **{**options, "kernel": "cold"})


if __name__ == "__main__":
    vars(batch)["execute"] = _cold
    main()
