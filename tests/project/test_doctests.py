"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import re
from importlib import import_module

import pytest

from tests.helpers.docs import ROOT

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "grader").rglob("*.py"))
    if re.search(r"^ +>>> \w", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_hold(name: str) -> None:
    results = doctest.testmod(import_module(name), report=True)
    assert results.attempted
    assert results.failed == 0, "the differences are printed above"
