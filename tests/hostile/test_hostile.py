"""Every attack through `grader grade`, beside honest students: none gets anything.

Each attack is a small file in `attacks/`, which says what it tries and what it must earn. To see
the whole table run `grader doctor --attack`.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable

import pytest

from grader.security.redteam import (
    Attack,
    AttackResult,
    AttackSettings,
    Report,
    attacks_folder,
    read_attacks,
    run_attacks,
)

ATTACKS = read_attacks(attacks_folder())
CLASSES = {
    "broken", "dying", "escape", "forge", "identity", "key", "others", "resources", "survive",
    "values",
}  # fmt: skip
LAYERS = {
    "environment", "scratch", "rlimits", "user", "files", "metadata", "network", "processes", "ipc",
    "hostname", "landlock", "system-calls", "privileges", "cgroup",
}  # fmt: skip
# In halves that take about as long, so that two workers of the test run share them.
HALVES = (
    ("broken", "forge", "identity", "key", "others", "values"),
    ("dying", "escape", "resources", "survive"),
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the attacks are for Unix")


def shown(rows: Iterable[AttackResult]) -> str:
    return "\n".join(f"{row.name}: {row.tries} -> {row.observation}" for row in rows)


def check(report: Report) -> None:
    """Fails for what got through; skips, naming them, for what no layer here could stop."""
    failed = [row for row in report.rows if row.has_held is False and not row.missing]
    assert not failed, shown(failed)
    open_ = [row for row in report.rows if row.has_held is False]
    if open_:
        layers = sorted({layer for row in open_ for layer in row.missing})
        pytest.skip(f"{len(open_)} attacks not held for want of the layers {', '.join(layers)}")


def test_the_first_attack_of_each_class_gets_nothing() -> None:
    first = {a.group: a.name for a in reversed(ATTACKS) if not a.slow}
    check(run_attacks(AttackSettings(selection=tuple(first.values()))))


@pytest.mark.thorough
def test_no_attack_gets_in() -> None:
    check(run_attacks(AttackSettings(selection=HALVES[0], slow=False)))


@pytest.mark.slow
def test_no_attack_gets_anything_however_long_it_takes() -> None:
    names = tuple(a.name for a in ATTACKS if a.slow)
    check(run_attacks(AttackSettings(selection=names)))


def test_there_are_attacks_of_every_class() -> None:
    counts = Counter(a.group for a in ATTACKS)
    assert set(counts) == CLASSES == {name for half in HALVES for name in half}
    assert len(ATTACKS) >= 60
    assert all(count >= 5 for count in counts.values())


@pytest.mark.parametrize("one", ATTACKS, ids=lambda a: a.name)
def test_every_attack_says_what_it_tries(one: Attack) -> None:
    assert one.tries.endswith(".")
    assert len(one.tries) < 150
    assert {*one.stopped_by, *one.unsafe_without} <= LAYERS
    if one.form != "cells":
        ast.parse(one.path.read_text(encoding="utf-8"))
        assert callable(one.load_function())


def test_attacks_that_forge_have_no_honest_answers_to_hide_behind() -> None:
    # Three send so much nonsense that what they answered honestly before must still be there.
    honest = {a.name for a in ATTACKS if a.group == "forge" and a.earns != "nothing"}
    assert honest == {
        "forge/broken-frames", "forge/flood-of-replies", "forge/huge-frame",
        "forge/malformed-messages",
    }  # fmt: skip


# At the other end of the module, so that another worker of the test run takes it.
@pytest.mark.thorough
def test_no_attack_gets_out_or_stops_the_batch() -> None:
    check(run_attacks(AttackSettings(selection=HALVES[1], slow=False)))
