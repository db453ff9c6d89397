"""The floor: the cells of each notebook in one warm process, with no kernel and no grader.

    python bare_cells.py SUBMISSIONS GIVEN.json OUT.json

Times the loop alone, with torch imported before, and says so in OUT.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path

import numpy  # noqa: F401  # warm
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from exam import ANSWERS, judge


def run(path: Path) -> dict[str, object]:
    """What the notebook's answers hold after its cells have run, each in spite of the others."""
    space: dict[str, object] = {"__name__": "__main__"}
    cells = json.loads(path.read_bytes())["cells"]
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells:
            if cell["cell_type"] == "code":
                with contextlib.suppress(Exception):
                    exec(compile("".join(cell["source"]), "cell", "exec"), space)
    return {a.name: space[a.name] for a in ANSWERS if a.name in space}


def main() -> None:
    folder, given_file, out = map(Path, sys.argv[1:4])
    given = json.loads(given_file.read_bytes())
    paths = sorted(folder.glob("*.ipynb"))
    run(paths[0])  # so that what torch does once only is done
    torch.manual_seed(0)
    wall, cpu = time.perf_counter(), time.process_time()
    marks = {path.stem: judge(run(path), given[path.stem]) for path in paths}
    loop = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    out.write_text(json.dumps({"marks": marks, "loop": loop}))


if __name__ == "__main__":
    main()
