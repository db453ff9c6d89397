"""Notebooks out and in: valid files from us, and nothing but a sentence for what is not one."""

from __future__ import annotations

import json
import warnings
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import notebook
from grader.errors import SubmissionError
from grader.notebook import Cell

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
# What Jupyter's format says more of; the rest of a cell's metadata may be anything.
FORMATTED = {"tags", "name", "jupyter", "format", "execution", "collapsed", "scrolled"}
cells = st.lists(
    st.builds(
        Cell,
        type=st.sampled_from(["markdown", "code", "raw"]),
        source=text,
        id=st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
        metadata=st.dictionaries(
            text.filter(lambda name: name not in FORMATTED),
            st.integers() | text | st.lists(text),
            max_size=2,
        ),
    ),
    unique_by=lambda cell: cell.id,
    max_size=6,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def tree(*entries: object, **changes: Any) -> bytes:
    made = {"cells": list(entries), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **changes}
    return json.dumps(made).encode()


def refusal(data: bytes) -> str:
    with pytest.raises(SubmissionError) as caught:
        notebook.read(data)
    return caught.value.what


CODE = {"cell_type": "code", "source": "x = 1", "id": "a", "metadata": {}, "outputs": []}


@pytest.mark.thorough
@given(cells)
def test_what_is_written_is_valid_and_reads_back_the_same(made: list[Cell]) -> None:
    data = notebook.write(made, {"kernelspec": {"name": "python3", "display_name": "é"}})
    nbformat.validate(nbformat.reads(data.decode(), as_version=4))
    back = notebook.read(data)
    assert list(back.cells) == made
    assert back.metadata["kernelspec"] == {"name": "python3", "display_name": "é"}


def test_the_bytes_are_those_that_jupyter_itself_would_write() -> None:
    made = [
        Cell(type="markdown", source="# Título\nof it", id="t", metadata={"b": [1], "a": {}}),
        Cell(type="code", source="q1_x = ...\n", id="q1-x"),
        Cell(type="code", source="", id="empty"),
    ]
    data = notebook.write(made, {"language_info": {"name": "python"}})
    again = nbformat.writes(nbformat.reads(data.decode(), as_version=4)) + "\n"
    assert data.decode() == again
    assert data == notebook.write(made, {"language_info": {"name": "python"}})


@pytest.mark.parametrize("names", [("a", "a"), ("",), ("q1 x",), ("é",)])
def test_cell_ids_that_are_not_ids_are_our_own_bug(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="cell id"):
        notebook.write([Cell(type="code", source="", id=name) for name in names], {})


def test_missing_and_duplicate_ids_are_replaced_and_the_order_is_kept() -> None:
    entries = [CODE, {**CODE, "source": "y"}, {"cell_type": "code", "source": ["z\n", "w"]}]
    entries += [{**CODE, "id": "cell-0", "source": "own"}, {**CODE, "id": 7, "source": "last"}]
    found = notebook.read(tree(*entries)).cells
    assert [cell.source for cell in found] == ["x = 1", "y", "z\nw", "own", "last"]
    assert [cell.id for cell in found] == ["a", "cell-1", "cell-2", "cell-0", "cell-3"]


def test_cells_without_metadata_or_of_another_type_are_read() -> None:
    found = notebook.read(tree({"cell_type": "heading", "source": "T"}, metadata=None))
    assert found.cells[0].type == "raw"
    assert found.metadata == {}


def test_format_3_is_read_from_its_worksheets() -> None:
    sheet = {"cells": [{"cell_type": "code", "input": ["q1_x = 3"], "outputs": []}]}
    found = notebook.read(json.dumps({"nbformat": 3, "worksheets": [sheet]}).encode())
    assert [(cell.type, cell.source) for cell in found.cells] == [("code", "q1_x = 3")]


def test_a_byte_order_mark_is_not_held_against_anybody() -> None:
    assert notebook.read(b"\xef\xbb\xbf" + tree(CODE)).cells[0].source == "x = 1"


def test_half_a_surrogate_pair_and_nul_become_harmless() -> None:
    source = notebook.read(tree({**CODE, "source": "a\ud800b\0c"})).cells[0].source
    assert source == "a?b\ufffdc"


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b"q1_x = 3\n", "the file is not a notebook: not JSON at line 1, column 1"),
        ("{}".encode("utf-16"), "the file is UTF-16 text; notebooks are UTF-8"),
        ("{}".encode("utf-16-le"), "the file is UTF-16 text; notebooks are UTF-8"),
        ("{}".encode("utf-16-be"), "the file is UTF-16 text; notebooks are UTF-8"),
        (b'{"cells": [\0]}', "the file is not a notebook: it contains NUL bytes"),
        (
            '{"cells": [\n{"source": "é"}]}'.encode("latin-1"),
            "the file is not a notebook: not UTF-8 text at line 2, column 13",
        ),
        (b"PK\x03\x04\x00\x00", "the file is a zip archive, not a notebook"),
        (b"\n<!DOCTYPE html><html>", "the file is a web page, not a notebook"),
        (b"%PDF-1.7", "the file is a PDF, not a notebook"),
        (b'{"cells": [', "the file is not a notebook: not JSON at line 1, column 12"),
        (b'{"cells": []} {}', "the file is not a notebook: not JSON at line 1, column 15"),
        (b"[]", "this is JSON, but not a notebook"),
        (b'{"a": 1}', "this is JSON, but not a notebook"),
        (b"[" * 200_000, "the file is nested too deeply to be a notebook"),
        (b"1" * 5_000, "the file holds a number that is too long to be read"),
        (tree(nbformat=99), "the notebook has format 99; formats 3 and 4 are read"),
        (tree(nbformat="4"), "the notebook has format unknown; formats 3 and 4 are read"),
        (tree(cells="no"), "the notebook's cells are not a list"),
        (tree("no"), "cell 1 of the notebook is not a cell"),
        (tree(CODE, {**CODE, "source": 3}), "cell 2 of the notebook has no readable text"),
        (tree(CODE, {**CODE, "source": ["a", 3]}), "cell 2 of the notebook has no readable text"),
        (b'{"nbformat": 3, "worksheets": [1]}', "the notebook's worksheets can't be read"),
        (tree(*[{}] * 2001), "the notebook has 2001 cells; at most 2000 are read"),
        (b" " * 64_600_001, "the file has 65 MB; at most 64 MB are read"),
    ],
)
def test_what_is_not_a_notebook_gets_a_sentence_of_its_own(data: bytes, sentence: str) -> None:
    assert refusal(data) == sentence


# --- Outputs are left out

PLOT = {"output_type": "display_data", "data": {"image/png": "iVBOR" * 2_000_000}, "metadata": {}}


def test_outputs_may_be_large_and_are_not_part_of_what_is_read() -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ['"]}\n', "\\", "[[[{{{"]}
    data = tree({**CODE, "outputs": [PLOT, printed, PLOT]}, {**CODE, "source": "y = 2"})
    assert len(data) > 20_000_000
    assert [cell.source for cell in notebook.read(data).cells] == ["x = 1", "y = 2"]


def test_only_the_outputs_of_cells_are_left_out() -> None:
    mine = {"outputs": [1, 2], "more": [{"outputs": [3]}]}
    read = notebook.read(tree({**CODE, "metadata": mine}, metadata=mine))
    assert read.metadata == mine
    assert read.cells[0].metadata == mine


def test_an_error_behind_outputs_is_shown_where_it_stands_in_the_file() -> None:
    data = json.dumps(
        {"cells": [{**CODE, "outputs": [{"text": ["é"] * 5}]}, CODE, "HERE"]},
        indent=1,
        ensure_ascii=False,
    )
    line = data[: data.index('"HERE"')].count("\n") + 1
    said = refusal(data.replace('"HERE"', "é?").encode())
    assert said == f"the file is not a notebook: not JSON at line {line}, column 3"


def worksheet(entry: object) -> bytes:
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": [entry]}]}).encode()


def test_outputs_of_format_3_are_left_out_too() -> None:
    data = worksheet({"cell_type": "code", "input": "q1_x = 3", "outputs": [PLOT]})
    assert notebook.read(data).cells[0].source == "q1_x = 3"


def test_a_notebook_that_jupyter_downgraded_to_format_3_is_read() -> None:
    made = notebook.write([Cell(type="code", source="q1_x = 3\ny = 2", id="a")], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nbformat.convert(nbformat.reads(made.decode(), as_version=4), 3)
    assert "worksheets" in old
    assert notebook.read(nbformat.writes(old).encode()).cells[0].source == "q1_x = 3\ny = 2"


# Each of more bytes than are parsed without looking.
BOMBS = {
    "lists": b'{"cells": [' + b"[]," * 700_000 + b"[]]}",
    "objects": b'{"cells": [' + b"{}," * 700_000 + b"{}]}",
    "numbers": b'{"cells": [' + b"1," * 1_300_000 + b"1]}",
    "keys": b'{"cells": [], "metadata": {' + b'"a":1,' * 1_300_000 + b'"b":1}}',
    "lists in outputs": b'{"cells": [{"outputs": [' + b"[]," * 700_000 + b"[]]}]}",
}


@pytest.mark.thorough
@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
def test_what_would_become_gigabytes_of_objects_is_not_parsed(data: bytes) -> None:
    assert refusal(data) == "the notebook holds more than 1,200,000 values"


@pytest.mark.parametrize("spaces", [0, 2_000_000])
@pytest.mark.parametrize("start", [b"", b'{"cells": [{"outputs": [', b'{"metadata": '])
def test_depth_is_bounded_by_python(start: bytes, spaces: int) -> None:
    said = refusal(start + b" " * spaces + b"[" * 100_000 + b"]" * 100_000)
    assert said == "the file is nested too deeply to be a notebook"


def test_depth_that_editors_make_is_fine() -> None:
    deep: object = 1
    for _ in range(40):
        deep = {"a": [deep]}
    assert notebook.read(tree(CODE, metadata={"widgets": deep})).cells


def test_data_in_code_is_limited() -> None:
    code = {**CODE, "source": "x = 1\n" * 900_000}
    assert refusal(tree(code)) == (
        "the code cells hold 5.4 million characters; at most 5 million are run"
    )


def test_numbers_that_are_not_json_are_no_reason_to_refuse_a_notebook() -> None:
    data = tree(CODE, metadata={"a": "HERE"})
    for odd in (b"NaN", b"-Infinity", b"1e999", b"-1E+400"):
        assert notebook.read(data.replace(b'"HERE"', odd)).cells[0].source == "x = 1"


def test_of_two_keys_of_the_same_name_the_last_counts_as_it_does_in_jupyter() -> None:
    data = b'{"cells": [], "cells": [{"cell_type": "code", "source": "a", "source": "b"}]}'
    assert notebook.read(data).cells[0].source == "b"


@given(st.binary(max_size=200) | json_values.map(lambda v: json.dumps(v).encode()))
def test_arbitrary_bytes_give_a_notebook_or_a_sentence(data: bytes) -> None:
    try:
        notebook.read(data)
    except SubmissionError as error:
        said = error.what
    else:
        said = "this was a notebook"
    assert "\n" not in said
    assert said[0].islower()


@pytest.mark.thorough
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "cells": json_values
            | st.lists(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "cell_type": st.sampled_from(["code", "markdown"]) | json_values,
                        "source": st.lists(st.text()) | json_values,
                        "id": json_values,
                        "metadata": json_values,
                    },
                )
            ),
            "worksheets": json_values,
            "nbformat": st.sampled_from([3, 4, 4.0, True]) | json_values,
            "metadata": json_values,
        },
    )
)
def test_almost_notebooks_give_a_notebook_that_can_be_written_or_a_sentence(made: object) -> None:
    try:
        found = notebook.read(json.dumps(made).encode())
    except SubmissionError:
        return
    data = notebook.write([Cell(type=c.type, source=c.source, id=c.id) for c in found.cells], {})
    assert [c.source for c in notebook.read(data).cells] == [c.source for c in found.cells]


def test_a_large_file_that_never_closes_a_string_is_refused_at_once() -> None:
    assert "not JSON" in refusal(b'{"cells": ["' + b'\\"' * 3_000_000)
