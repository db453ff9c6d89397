"""nbclient with a cold kernel for each notebook, and a last cell that prints the answers.

python plain_nbclient.py SUBMISSIONS GIVEN.json OUT.json [PROCESSES]
"""

# mypy: disallow-untyped-calls=False, warn-return-any=False

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from exam import ANSWERS, judge

_PRINT = """\
import json
print(json.dumps({name: globals()[name] for name in %r if name in globals()}, default=float))
"""


def answers(path: Path) -> dict[str, object]:
    """What the notebook's answers hold after it has run."""
    book = nbformat.read(path, as_version=4)
    source = _PRINT % [a.name for a in ANSWERS]
    book.cells.append(nbformat.v4.new_code_cell(source))
    NotebookClient(book, kernel_name="python3", timeout=60, allow_errors=True).execute()
    return json.loads(book.cells[-1].outputs[0].text)


def main() -> None:
    folder, given_file, out = map(Path, sys.argv[1:4])
    processes = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    given = json.loads(given_file.read_bytes())
    paths = sorted(folder.glob("*.ipynb"))
    if processes == 1:
        values = list(map(answers, paths))
    else:
        with ProcessPoolExecutor(processes) as pool:
            values = list(pool.map(answers, paths))
    marks = {p.stem: judge(v, given[p.stem]) for p, v in zip(paths, values, strict=True)}
    out.write_text(json.dumps({"marks": marks}))


if __name__ == "__main__":
    main()
