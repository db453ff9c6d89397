"""Docstrings: their examples are right, and the parameters that they name exist."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator

import pytest

from tests.helpers.docs import ROOT

SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "grader").rglob("*.py"))
}
PARAMETER = re.compile(r"(?<![\w*`])\*([a-z_]\w*)\*(?![\w*`])")
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.mark.parametrize("file", [file for file, text in SOURCES.items() if EXAMPLE.search(text)])
def test_the_examples_of_a_module_are_right(file: str) -> None:
    found = doctest.testmod(pytest.importorskip(module_of(file)))
    assert found.attempted
    assert not found.failed


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for file, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                yield f"{file}:{node.lineno}", node


@pytest.mark.thorough
def test_a_docstring_names_only_parameters_of_its_function() -> None:
    for place, function in functions():
        listed = (a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg))
        named = set(PARAMETER.findall(ast.get_docstring(function) or ""))
        assert named <= set(listed), place
