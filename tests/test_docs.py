"""The documentation names every command, option, key and kind, and its examples work."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module
from pathlib import Path

import click
import pytest

from grader.cli import _COMMANDS
from grader.kinds import kinds
from grader.load import json_schema
from grader.load.schema import set_schema
from grader.model import Parameter, Problem
from grader.verify import checks

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"


def text_of(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    text = text_of("commands.md")
    assert f"`grader {name}" in text
    command: click.Command = import_module(f"grader.cli.{name}_command").command
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            names = [o for o in (*parameter.opts, *parameter.secondary_opts) if o.startswith("--")]
            assert any(o in text for o in names), f"{name} {names}"


def test_every_key_of_a_problem_is_documented() -> None:
    text = text_of("specs.md")
    for record in (Problem, Parameter):
        for field in dataclasses.fields(record):
            assert f"`{field.name}" in text or f"{field.name}:" in text, field.name


@pytest.mark.parametrize("name", sorted(kinds))
def test_every_kind_and_its_fields_are_documented(name: str) -> None:
    text = text_of("kinds.md")
    assert name in text
    for field in dataclasses.fields(kinds.find(name).spec):
        assert field.name in text or field.name in text_of("specs.md"), field.name


def test_every_check_of_the_gate_is_documented() -> None:
    text = text_of("specs.md")
    for check in checks.CHECKS:
        assert check.__doc__
    for name in ("second-computation", "trivial-guess", "printed-rounding", "hit-rate"):
        assert f"`{name}`" in text


@pytest.mark.parametrize(
    ("file", "made"), [("problem.schema.json", json_schema), ("set.schema.json", set_schema)]
)
def test_the_schemas_in_the_repository_are_current(file: str, made) -> None:  # type: ignore[no-untyped-def]
    stored = json.loads((ROOT / "problems" / file).read_text(encoding="utf-8"))
    assert stored == made(), f"run: grader schema > problems/{file}"


def test_links_between_pages_lead_somewhere() -> None:
    import re

    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
