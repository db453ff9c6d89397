"""Any bytes that are handed in give a notebook or a sentence: no traceback, no hang."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import strategies as st

from grader import notebook
from grader.collect import collect, load_submission
from grader.errors import SubmissionError
from grader.model import Student
from grader.notebook import Cell, Notebook, reading
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok
from tests.helpers.fuzz import as_json, changed, fuzz, mutated, value_or_sentence
from tests.helpers.notebooks import a_notebook

FEW, MANY = 120, 6_000
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["a\n", 'b"]}', "\\"]}
OLD = {"cell_type": "code", "input": ["x = 1\n"], "outputs": [OUTPUT], "collapsed": False}


@cache
def originals() -> tuple[bytes, ...]:
    """A released notebook, the same one solved and run, one of format 3, and a small one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        bank, roster = a_bank(home / "bank"), a_roster(home)
        ok("render", "quiz", "--roster", roster, "--out", home / "out", "--bank", bank)
        released = (home / "out" / "notebooks" / "ada.ipynb").read_bytes()
        ok("solve", home / "out", "--student", "ada", "--out", home / "a.ipynb", "--bank", bank)
        run = json.loads((home / "a.ipynb").read_bytes())
    for cell in run["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [OUTPUT, {"data": {"image/png": "iVBOR" * 30}, "metadata": {}}]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [OLD]}]}
    return released, json.dumps(run).encode(), as_json(old), a_notebook("q1_x = 1")


@cache
def trees() -> tuple[object, ...]:
    return tuple(json.loads(data) for data in originals())


def read(data: bytes) -> None:
    found = value_or_sentence(lambda: notebook.read(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "SMALL", 0)  # by the way that large files go
        trimmed = value_or_sentence(lambda: notebook.read(data))
    assert trimmed == found or trimmed is None  # refused for a depth that is fine in a small one
    if found is not None:
        sound(found)


def sound(found: Notebook) -> None:
    """What was read can be written, and reads back the same."""
    cells = [Cell(type=c.type, source=c.source, id=c.id) for c in found.cells]
    again = notebook.read(notebook.write(cells, {})).cells
    assert [(c.type, c.source, c.id) for c in again] == [(c.type, c.source, c.id) for c in cells]


def collected(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        where = path if name.endswith(".zip") else Path(folder)
        found = value_or_sentence(lambda: collect(where, {"ada": Student(id="ada")}))
        if found is None:
            assert name.endswith(".zip")
            return
        for notice in found.notices:
            assert notice.path.isprintable()
            assert notice.text.isprintable()
        for submission in (*found.submissions, *found.earlier):
            value_or_sentence(lambda one=submission: again(one))  # type: ignore[misc]


def again(submission: object) -> None:
    try:
        data = load_submission(submission)  # type: ignore[arg-type]
    except SubmissionError:
        return
    if submission.refusal is None:  # type: ignore[attr-defined]
        sound(notebook.read(data))


NAMES = st.sampled_from(
    ["ada.ipynb", "ada/x.ipynb", "ADA.IPYNB", "../ada.ipynb", "ada\\x.ipynb", "/ada.ipynb", "ada/",
     "ada.ipynb/", "ada\n.ipynb", "\x1b[2Jada.ipynb", "bob.ipynb", "a" * 300 + ".ipynb",
     "C:ada.ipynb", "ada.ipynb/x/ada.ipynb", ".ipynb", "ada", "\u202e.ipynb", "é/ada.ipynb",
     "ada/" * 60 + "x.ipynb"]
)  # fmt: skip
METHODS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])


def a_zip(members: list[tuple[str, bytes, int]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data, method in members:
            if name not in archive.NameToInfo:
                archive.writestr(name, data, method)
    return made.getvalue()


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    contents = st.sampled_from(originals()) | mutated(originals()[2:])
    members = draw(st.lists(st.tuples(NAMES, contents, METHODS), min_size=1, max_size=4))
    data = a_zip(members)
    return draw(st.just(data) | mutated([data]))


def check_all(examples: int) -> None:
    fuzz(mutated(originals()), read, examples)
    fuzz(changed(trees()).map(as_json), read, examples)
    fuzz(changed(trees()).map(as_json).flatmap(lambda data: mutated([data])), read, examples)
    fuzz(mutated(originals()), lambda data: collected(data, "ada.ipynb"), examples // 2)
    fuzz(zips(), lambda data: collected(data, "class.zip"), examples)


@pytest.mark.thorough
def test_mutated_notebooks_and_zips_give_a_notebook_or_a_sentence() -> None:
    check_all(FEW)


@pytest.mark.slow
def test_thousands_of_mutated_notebooks_and_zips_give_a_notebook_or_a_sentence() -> None:
    check_all(int(os.environ.get("GRADER_EXAMPLES", MANY)))
