"""Code with hidden cases, and attempts side by side, as staff see them at the desk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.banks import a_bank
from tests.helpers.browser import CHROMIUM, a_browser
from tests.helpers.code import CODE_EXAM, CODE_SPEC, SCALED
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_desk, signed_in

FORBIDS = CODE_SPEC + "    forbid: [numpy.multiply]\n"
CODE = {
    "ada": "import numpy as np\n\ndef q1_scaled(x, by=2):\n    return x + by",
    "bob": "import numpy as np\n\ndef q1_scaled(x, by=2):\n    return np.multiply(x, by)",
    "cy": "import numpy as np\n\ndef q1_scaled(x, by=2):\n    raise ValueError('<b>no</b>')",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("code")
    bank = a_bank(home / "bank", FORBIDS, SCALED, CODE_EXAM)
    lines = [f"{id_},Student {id_},A\n" for id_ in (*CODE, "dee")]
    (home / "roster.csv").write_text("id,name,section\n" + "".join(lines))
    ok(
        "render", "quiz", "--roster", home / "roster.csv", "--out", home / "release",
        "--bank", bank,
    )  # fmt: skip
    _hand_in(home, CODE)
    _hand_in(home, {"ada": CODE["ada"].replace("x + by", "x * by")})
    return home / "results"


def _hand_in(home: Path, code: dict[str, str]) -> None:
    for id_, text in code.items():
        path = home / "in" / f"{id_}.ipynb"
        path.parent.mkdir(exist_ok=True)
        (released,) = (home / "release").rglob(f"{id_}.ipynb")
        data = json.loads(released.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        added = {**cell, "id": "added", "source": text, "metadata": {}}
        path.write_text(json.dumps({**data, "cells": [*data["cells"], added]}))
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank",
    )  # fmt: skip


@pytest.fixture(scope="module")
def home(results: Path) -> Iterator[tuple[str, Reader]]:
    with a_desk(results) as links:
        yield links["kim"], signed_in(links["kim"])


@pytest.fixture
def kim(home: tuple[str, Reader]) -> Reader:
    return home[1]


@pytest.mark.thorough
def test_hidden_cases_show_what_was_expected_and_what_came(kim: Reader) -> None:
    _, page = kim.get("/student/cy/code")
    assert page.count('<th scope="row">random') >= 6
    assert "x=" in page
    assert "by=3" in page
    assert "raised: ValueError" in page
    assert "<b>no</b>" not in page
    assert "passes" not in page
    _, page = kim.get("/student/ada/code")
    assert "passes" in page
    assert "is-incorrect" not in page


def test_the_line_with_what_is_forbidden_is_marked(kim: Reader) -> None:
    _, page = kim.get("/student/bob/code")
    marked = page.split('<li class="is-incorrect">')
    assert len(marked) == 2
    assert marked[1].startswith("<code>    return np.multiply(x, by)</code>")
    assert "uses numpy.multiply" in marked[1]


def test_students_do_not_see_the_cases(results: Path) -> None:
    for path in (results / "feedback").iterdir():
        assert "by=3" not in path.read_text()


def test_attempts_are_compared(kim: Reader) -> None:
    _, page = kim.get("/student/ada/attempts")
    assert "attempt 1</th>" in page
    assert 'attempt 2 <span class="tag">counts</span>' in page
    assert "<strong>4</strong>" in page, "the points have changed"
    assert "<strong>code</strong>" in page, "the code has changed"
    assert "-    return x + by\n+    return x * by" in page
    _, page = kim.get("/student/bob/attempts")
    assert "attempt 2" not in page
    assert "<strong>" not in page


def test_a_missing_submission_has_pages_too(kim: Reader) -> None:
    status, page = kim.get("/student/dee")
    assert status == 200
    assert "No submission" in page
    assert "There is no execution to show." in kim.get("/student/dee/code")[1]
    assert "There is no submission." in kim.get("/student/dee/attempts")[1]
    assert kim.get("/student/dee/other")[0] == 400
    assert kim.get("/student/nobody/code")[0] == 400


def test_pseudonyms_hold_on_these_pages(results: Path) -> None:
    with a_desk(results, anonymous=True) as links:
        reader = signed_in(links["kim"])
        _, page = reader.get("/students")
        for address in {one.split('"')[0] for one in page.split('href="/student/')[1:]}:
            for view in ("code", "attempts"):
                status, text = reader.get(f"/student/{address}/{view}")
                assert status == 200
                assert not any(f"Student {id_}" in text for id_ in CODE)
        assert reader.get("/student/ada/code")[0] == 400


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_pages_fit_every_screen(home: tuple[str, Reader], tmp_path: Path) -> None:
    with a_browser(tmp_path) as browser:
        browser.open(home[0])
        address = home[0].partition("/enter")[0]
        for path in ("bob/code", "cy/code", "ada/attempts", "ada"):
            for width, dark in ((1200, False), (390, False), (390, True)):
                browser.open(f"{address}/student/{path}", width=width, dark=dark)
                found = browser.measure()
                assert found["scroll"] <= found["width"], (path, width, found["out"])
                assert found["pale"] == [], (path, dark)
        assert browser.complaints == []
