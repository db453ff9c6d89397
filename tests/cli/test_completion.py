"""What a shell completes, asked as a shell asks, and what `--help` says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from grader.cli import grader
from tests.helpers.banks import SPEC, a_bank, a_roster


def completed(line: str, cwd: Path, **more: str) -> list[str]:
    """The last word of *line*, completed by bash's protocol."""
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "grader"],
        capture_output=True, text=True, check=True, cwd=cwd,
        env={**os.environ, "_GRADER_COMPLETE": "bash_complete", "COMP_WORDS": line,
             "COMP_CWORD": str(len(words) - 1),
             "PYTHONPATH": str(Path(__file__).parents[2]), **more},
    )  # fmt: skip
    assert done.stderr == ""
    return [row.partition(",")[2] for row in done.stdout.splitlines() if row]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    bank = a_bank(home / "course", SPEC.replace("id: sample", "id: mine"))
    (bank / "problems" / "families.yaml").write_text("serving: Serving\n")
    (bank / "problems" / "memory-math" / "broken.yaml").write_text("a: [")
    (home / "release").mkdir()
    (home / "release" / "release.json").write_text('{"students": [{"id": "ada"}, {"id": "bo"}]}')
    (home / "results" / "grades").mkdir(parents=True)
    (home / "results" / "grades" / "cy.json").write_text("{}")
    (home / "term").mkdir()
    (home / "term" / "course.yaml").write_text(
        "id: x\nsections: [A, B]\nstaff: {kim: {}, lee: {}}\n"
        "sets: {midterm: {due: 2026-10-05, results: ../results}, quiz: null}\n"
    )
    a_roster(home)
    return home


QUIZZES = sorted(p.stem for p in Path(__file__).parents[2].glob("problems/sets/quiz-*.yaml"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("grader show kv-c", ["kv-cache-size"]),
        ("grader show midterm-", ["midterm-1", "midterm-2"]),
        ("grader show --bank course min", ["mine"]),
        ("grader show --bank course bro", ["broken"]),
        ("grader verify mine kv-c", ["kv-cache-size"]),
        ("grader course grant --course term --set m", ["midterm"]),
        ("grader course grant --course term --section ", ["A", "B"]),
        ("grader course grant --course term --by l", ["lee"]),
        ("grader course grant --course term c", ["cy"]),
        ("grader render midt", ["midterm", "midterm-1", "midterm-2"]),
        ("grader render --bank course qu", ["quiz", *QUIZZES]),
        ("grader export moodle midterm-1", ["midterm-1"]),
        ("grader list --family num", ["numerics"]),
        ("grader list --bank course --family ser", ["serving"]),
        ("grader new num", ["numerics/"]),
        ("grader export moo", ["moodle"]),
        ("grader ver", ["verify"]),
        ("grader key release --student a", ["ada"]),
        ("grader solve release/release.json --student ", ["ada", "bo"]),
        ("grader mark results --student ", ["cy"]),
        ("grader render quiz --roster roster.csv --student b", ["bo"]),
        ("grader grade handed --release release --student b", ["bo"]),
        ("grader key nowhere --student ", []),
        ("grader list --bank nowhere --family nu", []),
    ],
)
def test_ids_are_completed(line: str, wanted: list[str], home: Path) -> None:
    assert completed(line, home) == wanted


def test_the_bank_of_the_environment_is_completed(home: Path) -> None:
    assert completed("grader show min", home, GRADER_BANK="course") == ["mine"]


def test_a_path_is_completed_where_no_id_fits(home: Path) -> None:
    assert completed("grader show ./cou", home) == ["./cou"]


# -- Help


def commands(group: click.Group, path: str = "grader") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


COMMANDS = dict(commands(grader))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_says_what_it_does(path: str) -> None:
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option):
            assert option.help, f"{path}: {option.opts[0]}"


@pytest.mark.parametrize("path", COMMANDS)
def test_a_limit_says_its_unit(path: str) -> None:
    units = {"seconds": "in seconds", "minutes": "in minutes", "gb": "in GB", "mb": "in MB"}
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option) and isinstance(option.type, click.FloatRange):
            unit = units.get(option.opts[0].rpartition("-")[2])
            assert unit is None or unit in (option.help or ""), f"{path}: {option.opts[0]}"
        if isinstance(option, click.Option) and option.show_default:
            assert not re.search(r"\.0$", str(option.default)), f"{path}: {option.opts[0]}"


def test_help_groups_all_commands_and_breaks_no_example() -> None:
    text = click.Context(grader, info_name="grader", terminal_width=60).command.get_help(
        click.Context(grader, info_name="grader", terminal_width=60)
    )
    assert "\n    grader show kv-cache-size" in text
    assert "\nCommands:" not in text
    for heading in ("Bank:", "Exam:", "Grading:", "Exchange:", "Machine:"):
        assert f"\n{heading}\n" in text
    for name in grader.list_commands(click.Context(grader)):
        assert len(re.findall(rf"^  {name} ", text, re.M)) == 1
