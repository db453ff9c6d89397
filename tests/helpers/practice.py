"""Practice that runs in a thread, and forms filled in with right answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.bank.folders import Bank
from grader.bank.listing import read_heads
from grader.kinds import kinds
from grader.kinds.plan import PlanKey
from grader.kinds.table import TableKey
from grader.model import Key
from grader.web.practice.answers import NONE, form_of
from grader.web.practice.app import OwnerAccess, PracticeApp
from grader.web.practice.question import PracticeQuestion
from grader.web.practice.selection import Selection
from grader.web.practice.session import Practice
from tests.helpers.servers import running


def a_practice(home: Path, wanted: str = "", **choice: object) -> Practice:
    """A session on the bank that comes with the package."""
    bank = Bank.open(())
    heads, _ = read_heads(bank)
    practice = Practice(
        bank=bank, heads=heads, file=home / "practice-progress.json", dice=random.Random(1)
    )
    if wanted or choice:
        practice.start(Selection(name=wanted, **choice))  # type: ignore[arg-type]
    return practice


def right_fields(asked: PracticeQuestion) -> dict[str, list[str]]:
    """The fields of a form with the right answer to every part."""
    found: dict[str, list[str]] = {}
    for name, key in asked.keys.items():
        found |= _fields(name, key)
    return found


def _fields(name: str, key: Key) -> dict[str, list[str]]:
    answer, form = kinds.find(key.part.kind).answer(key), form_of(key)
    if form == "letters":
        assert isinstance(answer, list)
        return {name: answer or [NONE]}
    if form == "truth":
        truth, reason = answer if isinstance(answer, list) else (answer, "")
        return {name: [str(truth).lower()], f"{name}.reason": [str(reason)]}
    if form == "ordering":
        assert isinstance(answer, list | tuple)
        return {f"{name}.{n}": [one] for n, one in enumerate(answer, 1)}
    if form == "matching":
        assert isinstance(answer, dict)
        return {f"{name}.{n}": [str(one)] for n, one in enumerate(answer.values(), 1)}
    if isinstance(key, PlanKey):
        choices = key.part.choose.items()
        indices = ((n, offered.index(key.best[0][c])) for n, (c, offered) in enumerate(choices, 1))
        return {f"{name}.{n}": [str(index)] for n, index in indices}
    if isinstance(key, TableKey):
        assert isinstance(answer, dict)
        return {
            f"{name}.{row}.{column}": [repr(cell)]
            for row, cells in enumerate(answer.values(), 1)
            for column, cell in enumerate(cells, 1)
        }
    return {name: [str(answer)]}


@contextmanager
def a_server(practice: Practice) -> Iterator[str]:
    """Runs the application; yields its link."""
    access = OwnerAccess()
    app = PracticeApp(practice, access)
    with running(app.asgi) as address:
        yield f"{address}/enter?token={access.token}"
