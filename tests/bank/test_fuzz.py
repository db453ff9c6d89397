"""Any bytes that somebody calls a spec give a problem or a sentence: no traceback, no hang."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import yaml

from grader.bank.exam_set import exam_from
from grader.bank.facts import read_facts
from grader.bank.index import own_bank
from grader.bank.problem import load_problem, problem_from
from grader.bank.yaml12 import parse_yaml
from grader.release.file import load_release
from grader.release.roster import load_roster
from tests.helpers.banks import ROSTER, SPEC, a_bank, a_roster
from tests.helpers.commands import ok
from tests.helpers.fuzz import as_json, changed, fuzz, mutated, value_or_sentence

FEW, MANY = 40, 4_000


@cache
def texts(folder: str) -> tuple[bytes, ...]:
    """The bank's own specs, the small one of the tests first: examples shrink towards it."""
    found = sorted((own_bank() / "problems").glob(f"{folder}/*.yaml"))
    own = [path.read_bytes() for path in found if path.parent.name != "facts" or folder == "facts"]
    return (SPEC.encode(), *own) if folder == "*" else tuple(own)


@cache
def trees(folder: str) -> tuple[object, ...]:
    return tuple(json.loads(json.dumps(parse_yaml(text, "x").data)) for text in texts(folder))


def as_yaml(tree: object) -> bytes:
    """In blocks, as people write it."""
    return yaml.safe_dump(tree, sort_keys=False).encode("utf-8", "surrogatepass")


def a_problem(data: bytes) -> None:
    value_or_sentence(lambda: problem_from(parse_yaml(data, "x.yaml")))


def a_set(data: bytes) -> None:
    known = {"kv-cache-size", "fsdp-state-per-gpu", "pipeline-bubble"}
    value_or_sentence(lambda: exam_from(parse_yaml(data, "x.yaml"), known))


def file_of(data: bytes, name: str, load: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        value_or_sentence(lambda: load(path))


def some_facts(data: bytes) -> None:
    file_of(data, "x.yaml", lambda path: read_facts(path.parent))


def a_roster_file(data: bytes) -> None:
    file_of(data, "roster.csv", load_roster)


def a_release(data: bytes) -> None:
    file_of(data, "release.json", load_release)


@cache
def releases() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        bank, roster = a_bank(home / "bank"), a_roster(home)
        ok("render", "quiz", "--roster", roster, "--out", home / "out", "--bank", bank)
        return ((home / "out" / "release.json").read_bytes(),)


ROSTERS = (ROSTER.encode(), b'SIS Login ID;Student Name\r\n1;Ada\r\n2;"Bo\nEk"\r\n')


def check_all(examples: int) -> None:
    fuzz(mutated(texts("*")), a_problem, examples)
    fuzz(changed(trees("*")).map(as_json), a_problem, examples)
    fuzz(changed(trees("*")).map(as_yaml), a_problem, examples // 2)
    fuzz(mutated(texts("sets")), a_set, examples)
    fuzz(changed(trees("sets")).map(as_json), a_set, examples)
    fuzz(mutated(texts("facts")), some_facts, examples // 2)
    fuzz(changed(trees("facts")).map(as_json), some_facts, examples)
    fuzz(mutated(ROSTERS), a_roster_file, examples)
    fuzz(mutated(releases()), a_release, examples // 2)
    fuzz(changed([json.loads(releases()[0])]).map(as_json), a_release, examples)


@pytest.mark.thorough
def test_mutated_specs_give_a_value_or_a_sentence() -> None:
    check_all(FEW)


@pytest.mark.slow
def test_thousands_of_mutated_specs_give_a_value_or_a_sentence() -> None:
    check_all(int(os.environ.get("GRADER_EXAMPLES", MANY)))


BOMBS = {
    "aliases": b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
    "merge": b"a: &a {x: 1}\nb:\n  <<: *a\n",
    "python": b"a: !!python/object/apply:os.system [echo hello]\n",
    "binary": b"a: !!binary aGVsbG8=\n",
    "deep": b"[" * 100_000,
    "deep blocks": b"".join(b" " * n + b"a:\n" for n in range(1_000)),
    "deep dashes": b"- " * 100_000,
    "wide": b"[" + b"1," * 400_000 + b"1]",
    "long key": b"? " + b"x" * 2_000 + b"\n: 1\n",
    "long text": b"a: '" + b"x" * 900_000 + b"'",
    "long number": b"minutes: " + b"9" * 900_000,
    "long power": b"minutes: 1e" + b"9" * 900_000,
    "too large": b"#" * 1_000_001,
    "utf-16": "id: x".encode("utf-16"),
    "two documents": b"a: 1\n---\n" * 1_000,
    "comments": b"#\n" * 400_000,
    "tags": b"!a " * 10_000,
    "empty": b"",
}


@pytest.mark.thorough
@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
def test_bombs_do_not_go_off(data: bytes) -> None:
    a_problem(data)
    a_set(data)
    file_of(data, "x.yaml", load_problem)
    some_facts(data)
    a_roster_file(data)
    a_release(data)


ODD_NUMBERS = ("9" * 400, "-" + "9" * 390, "1e308", "-1e308", "1e-320", ".inf", "-.inf", ".nan")


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_numbers_without_end_are_read_or_refused_wherever_a_number_may_stand(number: str) -> None:
    for old in ("minutes: 4", "points: 2", "[8, 16, 32]", "relative: 1%", "credit: 25%"):
        assert old in SPEC
        name, _, _ = old.partition(":")
        new = f"[{number}, 1]" if old.startswith("[") else f"{name}: {number}"
        a_problem(SPEC.replace(old, new).encode())
    for new in (f"integer: [{number}, 1]", f"real: [{number}, 1], step: {number}"):
        a_problem(SPEC.replace("choice: [8, 16, 32]", new).encode())
    for field in ("points", "choose", "minutes"):
        a_set(
            f"id: x\ntitle: x\nproblems:\n- {{pool: [kv-cache-size], {field}: {number}}}".encode()
        )
