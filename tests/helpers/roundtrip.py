"""What editors make of a notebook that was opened, run and saved there: bytes in, bytes out.

The metadata and the layouts are those of files that JupyterLab, VS Code and Colab have saved.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok

Tree = dict[str, Any]
Change = Callable[[bytes], bytes]

LAB_LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": "3.12.4",
}


def jupyterlab(data: bytes) -> bytes:
    """Run and saved: counts, outputs, the kernel's language, timings in the cells' metadata."""
    tree = _ran(data)
    tree["metadata"]["kernelspec"]["display_name"] = "Python 3 (ipykernel)"
    tree["metadata"]["language_info"] = LAB_LANGUAGE
    for cell in _code(tree):
        cell["metadata"]["execution"] = {"iopub.execute_input": "2026-11-22T10:00:00.000000Z"}
    tree["cells"][0]["metadata"] = {"editable": True, "slideshow": {"slide_type": ""}, "tags": []}
    return _written(tree)


def vscode(data: bytes) -> bytes:
    """Run in an environment of its own: another name of the kernel, no ids, metadata kept."""
    tree = _ran(data)
    tree["metadata"] |= {
        "kernelspec": {"display_name": ".venv", "language": "python", "name": "python3"},
        "language_info": LAB_LANGUAGE,
        "orig_nbformat": 4,
        "vscode": {"interpreter": {"hash": hashlib.sha256(b"python").hexdigest()}},
    }
    for cell in tree["cells"]:
        del cell["id"]
        cell["metadata"] = {"vscode": {"languageId": "python"}}
    return _written({**tree, "nbformat_minor": 2})


def vscode_on_windows(data: bytes) -> bytes:
    """The same with carriage returns in the file and in every cell, behind a byte order mark."""
    tree = json.loads(vscode(data))
    for cell in tree["cells"]:
        cell["source"] = [line.replace("\n", "\r\n") for line in cell["source"]]
    return b"\xef\xbb\xbf" + _written(tree).replace(b"\n", b"\r\n")


def old_vscode(data: bytes) -> bytes:
    """Versions of 2019 and 2020 kept nothing of the metadata that they did not know."""
    tree = json.loads(vscode(data))
    del tree["metadata"]["grader"]
    return _written(tree)


def colab(data: bytes) -> bytes:
    """Downloaded from Colab: its own order, indentation and ids, and none of our metadata."""
    return _from_colab(data, {})


def colab_that_keeps(data: bytes) -> bytes:
    """The same where the metadata came through."""
    return _from_colab(data, {"grader": json.loads(data)["metadata"]["grader"]})


def colab_with_drive(data: bytes) -> bytes:
    """With what people add there: a badge, a drive, shell commands, magics, forms, a scratch cell.

    The mounting raises anywhere but in Colab.
    """
    tree = json.loads(colab(data))
    for cell in _code(tree):
        text = "".join(cell["source"])
        if re.search(r"^q\d+_share = ", text, re.M):
            cell["source"] = [f'{text} # @param {{type:"number"}}']
            cell["metadata"]["cellView"] = "form"
        elif re.search(r"^q\d+_bound = ", text, re.M):
            cell["source"] = [f"%%capture\n{text}"]
        elif re.search(r"^q\d+_whole = ", text, re.M):
            cell["source"] = [f"# @title My answer\n!echo ready\n%time pass\n{text}"]
    badge = _cell("markdown", '<a href="https://colab.research.google.com/github/x/y">Open</a>')
    badge["metadata"] = {"colab_type": "text", "id": "view-in-github"}
    mount = _cell("code", "from google.colab import drive\ndrive.mount('/content/drive')")
    scratch = _cell("code", "%precision 4\n%pip --version\nnames = list = sum = None")
    tree["cells"] = [badge, mount, scratch, *tree["cells"]]
    return _written(tree, indent=2)


def without_metadata(data: bytes) -> bytes:
    """As tools that clean notebooks leave it: no outputs, no metadata, no ids."""
    tree = json.loads(data)
    for cell in tree["cells"]:
        del cell["id"]
        cell["metadata"] = {}
    return _written({**tree, "metadata": {}, "nbformat_minor": 4})


def in_one_line(data: bytes) -> bytes:
    """As a program writes it that cares for no layout: cells as one text, escapes, no breaks."""
    tree = json.loads(data)
    for cell in tree["cells"]:
        cell["source"] = "".join(cell["source"])
    return json.dumps(tree).encode()


def shuffled(data: bytes) -> bytes:
    """Answer cells moved to the end and copied with their ids; our last cell deleted."""
    tree = json.loads(data)
    *cells, _ = tree["cells"]
    answers = [c for c in cells if re.search(r"^q\d+_\w+ = ", "".join(c["source"]), re.M)]
    others = [c for c in cells if c not in answers]
    return _written({**tree, "cells": [*others, *answers, *copy.deepcopy(answers[:2])]})


def format_3(data: bytes) -> bytes:
    """Saved as the format of 2014, with worksheets and inputs."""
    tree = json.loads(data)
    cells = []
    for cell in tree["cells"]:
        fresh = {"cell_type": cell["cell_type"], "metadata": {}}
        if cell["cell_type"] == "code":
            fresh |= {"collapsed": False, "input": cell["source"], "language": "python"}
            cells.append({**fresh, "outputs": [], "prompt_number": 1})
        else:
            cells.append({**fresh, "source": cell["source"]})
    sheet = {"cells": cells, "metadata": {}}
    return _written({"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [sheet]})


CHANGES: dict[str, tuple[str, Change]] = {
    change.__name__: (name, change)
    for name, change in (
        ("{}.ipynb", jupyterlab),
        ("{}/midterm (1).ipynb", vscode),
        ("{}.ipynb", vscode_on_windows),
        ("{} - Copy.ipynb", old_vscode),
        ("Copy of {}.ipynb", colab),
        ("{} (1).ipynb", colab_that_keeps),
        ("{}/Copy of midterm.ipynb", colab_with_drive),
        ("{}.ipynb", without_metadata),
        ("{}.ipynb", in_one_line),
        ("{}.ipynb", shuffled),
        ("{}.ipynb", format_3),
    )
}
"""Every change, with the name that the file has afterwards for a student of that id."""


def _from_colab(data: bytes, kept: Tree) -> bytes:
    old = _ran(data)
    cells = []
    for number, cell in enumerate(old["cells"]):
        digest = hashlib.sha256(f"{number}".encode()).hexdigest()
        metadata: Tree = {"id": digest[:12]}
        fresh = {"cell_type": cell["cell_type"], "source": cell["source"], "metadata": metadata}
        if cell["cell_type"] == "code":
            if cell["outputs"]:
                metadata["colab"] = {"base_uri": "https://localhost:8080/"}
                metadata["outputId"] = f"{digest[:8]}-0000-4000-8000-{digest[:12]}"
            fresh |= {"execution_count": cell["execution_count"], "outputs": cell["outputs"]}
        cells.append(fresh)
    metadata = {
        "colab": {"provenance": [], "name": "midterm.ipynb", "gpuType": "T4"},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
        "accelerator": "GPU",
        **kept,
    }
    tree = {"nbformat": 4, "nbformat_minor": 0, "metadata": metadata, "cells": cells}
    return _written(tree, indent=2)


def _ran(data: bytes) -> Tree:
    """As after "run all": a count and an output for each code cell."""
    tree: Tree = json.loads(data)
    for count, cell in enumerate(_code(tree), start=1):
        cell["execution_count"] = count
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["correct\n"]}]
    return tree


def _code(tree: Tree) -> Iterator[Tree]:
    return (cell for cell in tree["cells"] if cell["cell_type"] == "code")


def _cell(kind: str, source: str) -> Tree:
    cell: Tree = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _written(tree: Tree, indent: int = 1) -> bytes:
    return (json.dumps(tree, indent=indent, ensure_ascii=False) + "\n").encode()


SPEC = """\
id: everything
title: One part of every kind
family: memory-math
topics: [fsdp]
concepts: []
level: apply
minutes: 9
parameters:
  gpus: {choice: [8, 16, 32]}
values:
  weights: 26 * GB
assumptions: []
prompt: |
  Weights of 26 GB are split over {{ gpus }} GPUs.
parts:
  - {id: share, kind: numeric, ask: How much on each?, points: 1, unit: GB, answer: weights / gpus}
  - {id: whole, kind: integer, ask: Nodes of 8?, points: 1, answer: gpus // 8}
  - id: bound
    kind: choice
    ask: Which number format is it?
    points: 1
    options: [{text: bfloat16, correct: true}, {text: float32}, {text: 8-bit float}]
  - id: sharded
    kind: multi_choice
    ask: What is sharded?
    points: 1
    options:
      - {text: parameters, correct: true}
      - {text: gradients, correct: true}
      - {text: input batches}
  - id: steps
    kind: ordering
    ask: Put the steps in order.
    points: 1
    items: [{id: a, text: forward}, {id: b, text: backward}, {id: c, text: update}]
    order: [[a, b, c]]
  - id: stages
    kind: matching
    ask: What is what?
    points: 1
    items: [{id: one, text: ZeRO-1, match: adam}, {id: two, text: ZeRO-2, match: grads}]
    targets: [{id: adam, text: optimizer state}, {id: grads, text: gradients}]
  - id: sizes
    kind: table
    ask: Fill in the memory.
    points: 1
    row: n
    rows: [2, 4]
    columns: [{id: memory, title: weights, unit: GB, answer: weights / n}]
  - {id: fits, kind: true_false, ask: It fits into 80 GB., points: 1, answer: weights <= 80 * GB}
  - {id: name, kind: short_text, ask: Which collective?, points: 1, accept: [all-reduce]}
  - id: scaled
    kind: code
    ask: Scale x.
    points: 2
    starter: |
      import numpy as np

      def scaled(x, by=2):
          ...
    examples:
      - {call: "scaled(np.array([1.5]))", gives: "np.array([3.0])"}
      - {call: "scaled(np.zeros(2), by=3)", gives: "np.zeros(2)"}
explanation: |
  Each holds {{ share | unit("GB", 4) }}.
"""

SOLUTION = '''\
"""One rank after the other."""

import numpy as np


def solve(given):
    share = sum(26.0 for _ in range(1)) / given["gpus"]
    return {
        "share": share, "whole": len(range(0, given["gpus"], 8)), "bound": "bfloat16",
        "sharded": ["parameters", "gradients"], "steps": ["a", "b", "c"],
        "stages": {"one": "adam", "two": "grads"}, "sizes": [[13.0], [6.5]],
        "fits": True, "name": "all-reduce",
    }


def scaled(x, by=2):
    return x * by


def scaled_cases(rng, given):
    for _ in range(3):
        yield "random", {"x": rng.normal(size=5), "by": int(rng.integers(2, 9))}


def scaled_wrong_two(x, by=2):
    return x + 2
'''
NAMES = tuple(
    f"q1_{part}"
    for part in (
        *("share", "whole", "bound", "sharded", "steps"),
        *("stages", "sizes", "fits", "name", "scaled"),
    )
)


def a_course(home: Path, *students: str) -> Path:
    """A folder with a bank, a release for *students*, and everybody's solved notebook."""
    exam = "id: quiz\ntitle: A quiz\nproblems: [everything]\n"
    bank = a_bank(home / "bank", SPEC, SOLUTION, exam)
    roster = a_roster(home, "id\n" + "".join(f"{name}\n" for name in students))
    ok("render", "quiz", "--roster", roster, "--out", home / "release", "--bank", bank)
    for student in students:
        solved = home / "solved" / f"{student}.ipynb"
        ok("solve", home / "release", "--student", student, "--out", solved, "--bank", bank)
    return home
