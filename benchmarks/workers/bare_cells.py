"""The floor: the cells of each notebook in one warm process, with no kernel and no grader.

    python bare_cells.py SUBMISSIONS GIVEN.json OUT.json [--apart]

Times the loop alone, with torch imported before, and says so in OUT. With --apart every notebook
has a fork of that process for itself: the least that keeps students apart costs, before there is a
kernel, a wall, a gradebook or a page.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
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


def apart(path: Path) -> dict[str, object]:
    """The same by a child that ends afterwards."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, json.dumps(run(path), default=float).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        found: dict[str, object] = json.loads(said.read())
    os.waitpid(child, 0)
    return found


def spent() -> float:
    """CPU-seconds of this process and of its children that have ended."""
    mine, theirs = (resource.getrusage(who) for who in (_SELF, _CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


_SELF, _CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def main() -> None:
    folder, given_file, out = map(Path, sys.argv[1:4])
    answers = apart if "--apart" in sys.argv else run
    torch.set_num_threads(1)  # a fork of a process with a pool of threads waits for them for ever
    given = json.loads(given_file.read_bytes())
    paths = sorted(folder.glob("*.ipynb"))
    run(paths[0])  # so that what torch does once only is done
    torch.manual_seed(0)
    gc.collect()
    gc.freeze()  # or a child's collector would copy what it shares
    wall, cpu = time.perf_counter(), spent()
    marks = {path.stem: judge(answers(path), given[path.stem]) for path in paths}
    loop = {"wall": time.perf_counter() - wall, "cpu": spent() - cpu}
    out.write_text(json.dumps({"marks": marks, "loop": loop}))


if __name__ == "__main__":
    main()
