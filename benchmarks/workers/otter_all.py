"""Otter-Grader over a folder: `otter.api.grade_submission` for each, in one process or several.

    python otter_all.py FOLDER OUT.json [PROCESSES]

`otter grade` needs Docker; `otter run` starts Python and imports Otter anew for each notebook.
This is what both of them call inside, without that. Runs in Otter's own environment.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from otter.api import grade_submission


def marks(path: str) -> dict[str, float]:
    """Points of each test."""
    # Otter itself changes the working folder while it grades.
    zipped = Path(path).parent.parent / "autograder.zip"
    found = grade_submission(path, str(zipped), quiet=True)
    return {name: found.get_result(name).score for name in found.results}


def main() -> None:
    folder, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    paths = [str(p) for p in sorted((folder / "submissions").glob("*.ipynb"))]
    if processes == 1:
        found = list(map(marks, paths))
    else:
        with ProcessPoolExecutor(processes) as pool:
            found = list(pool.map(marks, paths))
    out.write_text(
        json.dumps({"marks": {Path(p).stem: m for p, m in zip(paths, found, strict=True)}})
    )


if __name__ == "__main__":
    main()
