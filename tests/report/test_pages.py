"""The pages in a real browser: nothing sticks out, nothing is blocked, everything can be read."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader.grading.tally import tally
from grader.model import Outcome
from grader.model.result import EvidenceSummary
from grader.report import class_page, feedback_page, summarize
from tests.helpers.browser import CHROMIUM, PROBE
from tests.helpers.report import (
    LATE,
    TEMPLATES,
    a_class,
    a_feedback,
    a_full_feedback,
    a_missing_row,
    a_part,
    as_late,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


def pages() -> dict[str, str]:
    grades = a_class(60, 12)
    missing = a_missing_row("a-student-with-a-long-id@university.edu")
    rows = list(tally({}, grades, max_points=lambda _: 0.0))
    rows = [*(as_late(row) if n % 7 == 0 else row for n, row in enumerate(rows)), missing]
    late = a_feedback(
        a_part(),
        a_part("q1_time"),
        score=3.0,
        raw_score=4.0,
        deduction=LATE,
        policy_notes=("Extended to Oct 5, 2026, 23:59 CEST by kim.",),
    )
    ran = {
        row.grade.submission_sha256: EvidenceSummary(
            submission_sha256=row.grade.submission_sha256,
            outcome=Outcome.TIMEOUT if n % 9 == 0 else Outcome.FINISHED,
            seconds=n,
            note="the notebook used more than its 600 seconds" if n % 9 == 0 else None,
        )
        for n, row in enumerate(rows)
        if row.grade
    }
    summary = summarize(
        rows,
        exam="midterm",
        title="Midterm: machine-learning systems",
        release="5d41402abc4b2a76",
        engine="0.1.0",
        published=False,
        evidence=ran,
        notices=["x99.ipynb: unknown student"],
    )
    return {
        "class": class_page(summary, TEMPLATES),
        "feedback": feedback_page(a_full_feedback(), TEMPLATES, engine="0.1.0"),
        "late": feedback_page(late, TEMPLATES),
        "early": feedback_page(a_feedback(a_part(), a_part("q1_time")), TEMPLATES),
    }


def framed(page: str, width: int) -> str:
    """*page* with the probe, in a frame, as a browser window can't be as narrow as a phone."""
    # Only a page without its own policy lets the probe in.
    page = re.sub(r"<meta http-equiv=.*?>", "", page)
    page = page.replace("</body>", f"<script>{PROBE}</script></body>")
    frame = f'<iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{{}}"></iframe>'
    return f"<!DOCTYPE html><title></title>{frame.format(html.escape(page))}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    for name, page in pages().items():
        (made / f"{name}.html").write_text(page, encoding="utf-8")
        for width in (390, 1200):
            text = framed(page, width)
            (made / f"{name}-{width}.html").write_text(text, encoding="utf-8")
    return made


def browse(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--hide-scrollbars",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            *options,
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def measured(page: Path, profile: Path, *options: str) -> dict[str, Any]:
    found = re.search(r"<title>(\{.*?\})</title>", browse(page, profile, *options).stdout)
    assert found, "the probe did not run to its end"
    return json.loads(html.unescape(found[1]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["class", "feedback", "early", "late"])
def test_nothing_sticks_out_on_a_phone(folder, tmp_path, name):
    seen = measured(folder / f"{name}-390.html", tmp_path)
    assert seen["width"] == 390
    assert seen["out"] == []
    assert seen["scroll"] == 390
    assert seen["small"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["class", "feedback"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(folder, tmp_path, name, scheme):
    setting = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    seen = measured(folder / f"{name}-1200.html", tmp_path, setting)
    assert seen["dark"] == (scheme == "dark")
    assert seen["texts"] > 50
    assert seen["pale"] == []
    assert seen["out"] == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["class", "feedback"])
def test_the_browser_has_nothing_to_complain_about(folder, tmp_path, name):
    ran = browse(folder / f"{name}.html", tmp_path)
    assert "</html>" in ran.stdout
    assert [line for line in ran.stderr.splitlines() if "CONSOLE" in line] == []


@pytest.mark.thorough
def test_the_complaints_of_a_browser_are_noticed(tmp_path):
    page = feedback_page(a_feedback(a_part()), TEMPLATES)
    bad = tmp_path / "bad.html"
    bad.write_text(page.replace("</body>", "<script>1</script></body>"), encoding="utf-8")
    assert "CONSOLE" in browse(bad, tmp_path / "profile").stderr


@pytest.mark.thorough
def test_formulas_are_drawn_by_the_browser_itself(folder, tmp_path):
    assert measured(folder / "feedback-390.html", tmp_path)["math"] > 5


@pytest.mark.thorough
def test_the_probe_notices_what_sticks_out_and_what_is_pale(tmp_path):
    page = feedback_page(a_feedback(a_part()), TEMPLATES)
    bad = '<p style="width: 500px; color: #aaa; background: #fff">pale and wide</p></body>'
    (tmp_path / "bad.html").write_text(framed(page.replace("</body>", bad), 390), encoding="utf-8")
    seen = measured(tmp_path / "bad.html", tmp_path / "profile")
    assert seen["out"] == ["P.null"]
    assert [text.split()[0] for text in seen["pale"]] == ["P.null"]
