"""Every code block of the documentation is run, loaded, or parsed."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import yaml

from grader.bank.exam_set import exam_from
from grader.bank.facts import facts_item
from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.cli import grader
from grader.draw import draw
from grader.errors import GraderError
from grader.kinds import kinds
from grader.testing import check_kind
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok
from tests.helpers.docs import PAGES, ROOT, registered_groups


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.M | re.S):
        body = "\n".join(line.removeprefix(found[1]) for line in found[3].splitlines()) + "\n"
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page.relative_to(ROOT).as_posix(), line, found[2], body)


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of(*languages: str) -> Any:
    blocks = [block for block in BLOCKS if block.language in languages]
    return pytest.mark.parametrize("block", blocks, ids=str)


def on(page: str, language: str) -> list[str]:
    return [b.text for b in BLOCKS if b.page == page and b.language == language]


def test_every_language_has_a_test_below() -> None:
    known = {"bat", "csv", "json", "python", "sh", "text", "toml", "yaml"}
    assert {block.language for block in BLOCKS} == known


# Shell


def commands(text: str) -> Iterator[list[str]]:
    """The words of each call of `grader` in a script."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set(";&|()<>"):
                while words and re.match(r"\w+=", words[0]):
                    words.pop(0)
                if words and Path(words[0]).name == "grader":
                    yield words[1:]
                words = []
            else:
                words.append(word)


def check_command(words: list[str]) -> None:
    """Raises UsageError if the command, an option, a choice, or an argument does not exist."""
    command: click.Command = grader
    context = click.Context(command, info_name="grader")
    while isinstance(command, click.Group):
        assert words, f"{context.command_path}: the command is missing"
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
    if "--help" in words:
        return
    values, rest, _ = command.make_parser(context).parse_args(list(words))
    assert rest == [], f"{context.command_path}: {rest}"
    for parameter in command.params:
        value = values.get(str(parameter.name))
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)
        assert value is not None or not parameter.required, f"{words}: {parameter.name}"


@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are for bash")
@of("sh")
def test_shell_blocks_are_valid_and_their_commands_exist(block: Block) -> None:
    done = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    for words in commands(block.text):
        check_command(words)


@of("bat")
def test_commands_for_windows_exist(block: Block) -> None:
    called = [line.split("grader ", 1)[1] for line in block.text.splitlines() if "grader " in line]
    assert called
    for line in called:
        check_command(line.split())


def test_a_command_that_does_not_exist_is_found() -> None:
    for line in ("grader graed x", "grader list --famly x", "true && A=b grader list x y"):
        with pytest.raises((click.UsageError, GraderError, AssertionError)):
            check_command(next(commands(line)))


def script_of(page: str, *, without: str) -> str:
    """The shell blocks of a page, less lines that set up what the test has already."""
    lines = "".join(on(page, "sh")).splitlines(keepends=True)
    return "set -e\n" + "".join(line for line in lines if not re.match(without, line))


def run_page(script: str, folder: Path) -> None:
    for name in ("problems", "solutions"):
        (folder / name).symlink_to(ROOT / name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are for bash")
def test_the_tutorial_works(tmp_path: Path) -> None:
    page = "docs/tutorial.md"
    (tmp_path / "roster.csv").write_text(on(page, "csv")[0], encoding="utf-8")
    (tmp_path / "mybank/problems/sets").mkdir(parents=True)
    (tmp_path / "mybank/problems/sets/quiz.yaml").write_text(on(page, "yaml")[0], "utf-8")
    run_page(script_of(page, without=r"make demo|\. \.venv"), tmp_path)
    for student in ("ada", "bo"):
        assert (tmp_path / f"results/feedback/{student}.html").exists()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are for bash")
def test_the_first_exam_of_the_readme_works(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(on("README.md", "csv")[0], encoding="utf-8")
    blocks = on("README.md", "sh")
    exam = next(b for b in blocks if "grader mark" in b)
    scores = next(b for b in blocks if "grader score" in b)
    new = next(b for b in blocks if "grader new" in b)
    script = "set -e\n" + exam.replace("pip install .", "true") + scores + new
    run_page(script, tmp_path)
    grade = json.loads((tmp_path / "results/grades/ada.json").read_text("utf-8"))
    assert grade["complete"] is True
    assert grade["score"] == grade["max_score"] - 0.5


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are for bash")
def test_the_first_change_works(tmp_path: Path) -> None:
    page = "docs/contributing/first-change.md"
    (tmp_path / "templates").symlink_to(ROOT / "templates")
    script = script_of(page, without=r"git |cd |make |\. \.venv|python -m pytest|grader verify$")
    run_page(script, tmp_path)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="the blocks are for bash")
def test_the_course_of_the_guide_works(tmp_path: Path) -> None:
    page = "docs/how-to/run-a-course.md"
    bank = a_bank(tmp_path / "bank")
    a_roster(bank)
    (bank / "course.yaml").write_text(on(page, "yaml")[0], encoding="utf-8")
    (bank / "times.csv").write_text(on(page, "csv")[0], encoding="utf-8")
    script = "".join(block for block in on(page, "sh") if "gh api" not in block)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=bank,
        env={**os.environ, "PATH": path},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert re.search(r"^bo +Oct 6, 2026, 21:40 CEST +platform +21 h 40 min", done.stdout, re.M)
    assert "1 total would change." in done.stdout
    grade = json.loads((bank / "results/grades/bo.json").read_text("utf-8"))
    assert grade["score"] == grade["max_score"]
    assert grade["policy_notes"] == ["Due date extended to Oct 7, 2026, 23:59 CEST by kim."]


# Python


@of("python")
def test_python_blocks_compile_and_import_what_exists(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("grader"):
            module = import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name), f"{node.module}.{alias.name}"


def test_the_plug_ins_of_the_guide_satisfy_their_contracts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guide = ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", guide)
    for text in on("docs/how-to/extend.md", "python"):
        for name in [name for name in vars(guide) if name.startswith("test_")]:
            delattr(guide, name)
        exec(compile(text, "extend.md", "exec"), vars(guide))
        for name, value in list(vars(guide).items()):
            if name.startswith("test_"):
                value()
    assert hasattr(guide, "Plain")


# Data


@of("yaml")
def test_yaml_blocks_parse(block: Block) -> None:
    if "uses:" in block.text:  # a workflow, whose expressions YAML 1.2 reads as text
        assert yaml.safe_load(block.text)
    else:
        parse_yaml(block.text.encode(), str(block))


def test_the_problem_among_the_examples_can_be_drawn() -> None:
    text = on("docs/examples.md", "yaml")[0]
    problem = problem_from(parse_yaml(text.encode(), "fp16-weights.yaml"), "")
    for seed in (b"one", b"two"):
        for key in draw(problem, seed, {}).keys.values():
            check_kind(kinds.find("numeric"), key)


def test_the_sets_and_facts_of_the_pages_load() -> None:
    known = {path.stem for path in (ROOT / "problems").rglob("*.yaml")}
    sets = [b for b in BLOCKS if b.language == "yaml" and re.search(r"^problems:", b.text, re.M)]
    assert len(sets) >= 3
    for block in sets:
        name = str(yaml.safe_load(block.text)["id"])
        exam_from(parse_yaml(block.text.encode(), f"{name}.yaml"), known)
    facts = next(text for text in on("docs/reference/specs.md", "yaml") if "checked:" in text)
    assert facts_item(yaml.safe_load(facts)["h100-sxm"])


@of("toml")
def test_toml_blocks_name_groups_that_are_read(block: Block) -> None:
    points = tomllib.loads(block.text)["project"]["entry-points"]
    assert set(points) <= registered_groups()


@of("json")
def test_json_blocks_parse(block: Block) -> None:
    assert json.loads(block.text)


@of("csv")
def test_rows_of_csv_blocks_have_the_columns_of_their_header(block: Block) -> None:
    rows = list(csv.reader(block.text.splitlines()))
    assert {len(row) for row in rows} == {len(rows[0])}


# The site

LOADED = r'(?:src=|<link[^>]*href=)"(https?://[^"]+)"'


@pytest.mark.thorough
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """With a made-up demonstration and a small catalogue; `make docs` makes the real ones."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings_handlers.python")
    copy = tmp_path / "copy"
    for name in ("docs", "grader", "problems", "solutions"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml"):
        shutil.copy(path, copy)
    demo = copy / "build" / "demo"
    names = re.findall(r"\(examples/([\w/]+\.html)", (ROOT / "docs/examples.md").read_text("utf-8"))
    for name in {*names} - {"notebook.html", "catalogue/index.html"}:
        page = demo / "results" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("<title>made up</title>", encoding="utf-8")
    (demo / "release" / "notebooks").mkdir(parents=True)
    shutil.copy(ROOT / "tests/golden/ada.ipynb", demo / "release/notebooks/rosa.ipynb")
    ok("catalogue", "--out", copy / "build" / "catalogue", "--bank", a_bank(tmp_path / "bank"))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=copy,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = copy / "build" / "site"
    assert (site / "examples" / "catalogue" / "solutions" / "sample.html").exists()
    api = (site / "reference/api/index.html").read_text(encoding="utf-8")
    for name in ("Exporter", "Sandbox", "Registry", "Unit"):
        assert f">{name}</span>" in api
    loaded = [
        (page.name, url)
        for page in site.rglob("*.html")
        for url in re.findall(
            r'(?:src=|<link[^>]*href=)"(https?://[^"]+)"', page.read_text("utf-8")
        )
        if "canonical" not in url
    ]
    assert loaded == [], "pages load nothing from other servers"
