"""The documentation names every command, option, key and kind, and its examples work."""

from __future__ import annotations

import dataclasses
import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from grader import testing
from grader.bank.schema import course_schema, json_schema, set_schema
from grader.cli import _COMMANDS, grader
from grader.kinds import kinds
from grader.model import Parameter, Problem
from grader.model.course import (
    AttemptPolicy,
    Course,
    CourseSet,
    Grant,
    LatePolicy,
    StaffMember,
    TimeSource,
)
from grader.verify import checks
from tests.helpers.commands import ok
from tests.helpers.docs import PAGES, ROOT, registered_groups

REFERENCE = ROOT / "docs" / "reference"


def text_of(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    text = text_of("commands.md")
    assert f"`grader {name}" in text
    command = grader.get_command(click.Context(grader), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            names = [o for o in (*parameter.opts, *parameter.secondary_opts) if o.startswith("--")]
            assert any(o in text for o in names), f"{name} {names}"


def test_every_field_of_a_course_is_documented() -> None:
    text = text_of("course.md")
    for record in (Course, CourseSet, LatePolicy, AttemptPolicy, StaffMember, Grant):
        for field in dataclasses.fields(record):
            assert f"`{field.name}`" in text, f"{record.__name__}.{field.name}"
    for source in TimeSource:
        assert f"| `{source.value}` |" in text


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
    for check in checks.CHECKS:
        assert check.__doc__
    sources = [p.read_text(encoding="utf-8") for p in (ROOT / "grader/verify").glob("*.py")]
    pattern = r"""(?:finding\(\s*|check=)"([a-z-]+)"|DrawError\(\s*"([a-z-]+)\""""
    found = {a or b for text in sources for a, b in re.findall(pattern, text)} - {"wording"}
    assert {"second-computation", "trivial-guess", "concepts"} <= found
    text = text_of("specs.md")
    assert [name for name in sorted(found) if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("problem.schema.json", json_schema),
        ("set.schema.json", set_schema),
        ("course.schema.json", course_schema),
    ],
)
def test_the_schemas_in_the_repository_are_current(file: str, made) -> None:
    stored = json.loads((ROOT / "problems" / file).read_text(encoding="utf-8"))
    assert stored == made(), f"run: grader schema > problems/{file}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+?)\)", page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            file, _, anchor = target.partition("#")
            path = page.parent / file if file else page
            if page == ROOT / "docs" / "examples.md" and file.startswith("examples/"):
                continue  # made by `make docs`, which checks these links
            assert path.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in anchors_of(path), f"{page.name}: {target}"


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of *page*."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_modules_and_classes_in_pages_exist() -> None:
    groups = registered_groups()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name in set(re.findall(r"`(grader(?:\.\w+)+)", text)) - groups:
            assert exists(name), f"{page.name}: {name}"
        for folder in re.findall(r"`(grader/[\w/]+)", text):
            assert (ROOT / folder).exists() or (ROOT / f"{folder}.py").exists(), folder


def test_the_api_page_lists_what_exists() -> None:
    block = r"^::: (grader[.\w]+)\n(?: .*\n)*? .*members: \[(.*?)\]"
    listed = dict(re.findall(block, text_of("api.md"), re.MULTILINE))
    assert set(listed) >= {"grader.units", "grader.testing"}
    for module, names in listed.items():
        for name in names.split(", "):
            assert hasattr(import_module(module), name), f"{module}.{name}"
    assert set(listed["grader.testing"].split(", ")) == set(testing.__all__)


def exists(name: str) -> bool:
    if find_module(name):
        return True
    home, _, attribute = name.rpartition(".")
    return find_module(home) and hasattr(import_module(home), attribute)


def find_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_every_entry_point_that_others_can_use_is_documented() -> None:
    text = (ROOT / "docs/how-to/extend.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(grader\.\w+)` \|", text, re.M))
    assert listed == registered_groups() - {"grader.sources"}  # which only nbgrader uses, by name


def test_the_sheet_of_the_paper_exam_can_be_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs/how-to/print-an-exam.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(yaml|csv)\n(.*?)```", text, re.DOTALL))
    monkeypatch.chdir(tmp_path)
    Path("paper-quiz.yaml").write_text(blocks["yaml"], encoding="utf-8")
    ok("render", "paper-quiz.yaml", "--format", "html", "--versions", "3", "--out", "paper")
    sheet = Path("paper/answers.csv")
    columns = sheet.read_text(encoding="utf-8-sig").splitlines()[0]
    assert blocks["csv"].splitlines()[0] == columns
    sheet.write_text(blocks["csv"], encoding="utf-8")
    done = ok("enter", sheet, "--release", "paper/release.json", "--out", "results", "--json")
    entered = json.loads(done.stdout)
    assert entered["scored"] == 2
    assert entered["absent"] == ["cy"]
    assert entered["unreadable"] == []
