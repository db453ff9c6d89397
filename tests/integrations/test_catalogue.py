"""The catalogue: its pages say what students see, and keys stay where they belong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.banks import SPEC, a_bank
from tests.helpers.commands import ok, run

SECRETS = (
    "That counts 4 bytes a parameter",  # feedback on a known mistake
    "That has 4 bytes",  # feedback on an option
    "Worked solution",
    "accepted from",
    "One GPU holds",  # the worked solution
    "known mistake",
)


def all_text(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.*")))


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return a_bank(tmp_path / "bank")


def test_a_problem_is_shown_as_students_see_it(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ok("catalogue", "--out", out, "--bank", bank)
    assert done.output == f"1 problem, 3 pages. Open {out / 'index.html'}\n"
    page = (out / "problems" / "sample.html").read_text(encoding="utf-8")
    models = re.findall(r"A model with ([\d.]+) billion parameters is split over (\d+)", page)
    assert len(models) == len(set(models)) == 3
    assert "q1_share = ..." in page
    assert "a number in GB" in page
    assert "A quiz" in page
    assert 'href="../solutions/sample.html"' in page
    assert not [secret for secret in SECRETS if secret in page]


def test_the_solution_has_the_numbers_of_the_same_variants(bank: Path, tmp_path: Path) -> None:
    ok("catalogue", "--out", tmp_path / "out", "--bank", bank)
    page = (tmp_path / "out" / "solutions" / "sample.html").read_text(encoding="utf-8")
    assert not [secret for secret in SECRETS if secret not in page]
    models = re.findall(r"with ([\d.]+) billion parameters is split over (\d+)", page)
    keys = re.findall(r"<strong>([\d.]+) GB</strong>", page)
    expected = [2 * float(billions) / int(gpus) for billions, gpus in models]
    assert [float(key) for key in keys] == pytest.approx(expected)


def test_without_keys_nothing_of_a_key_is_written(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ok("catalogue", "--out", out, "--bank", bank)
    foreign = out / "solutions" / "notes.html"
    foreign.write_text("my notes")
    ok("catalogue", "--out", out, "--bank", bank, "--no-keys")
    left = all_text(out)
    assert not [secret for secret in (*SECRETS, "solutions/") if secret in left]
    assert [path.name for path in (out / "solutions").iterdir()] == ["notes.html"]


def test_a_broken_problem_is_left_out_and_reported(bank: Path, tmp_path: Path) -> None:
    broken = SPEC.replace("id: sample", "id: broken").replace("weights / gpus", "weights / nothing")
    (bank / "problems" / "memory-math" / "broken.yaml").write_text(broken, encoding="utf-8")
    done = run("catalogue", "--out", tmp_path / "out", "--bank", bank)
    assert done.return_value == 1
    assert "1 problem, 3 pages" in done.output
    assert re.search(r"broken\.yaml:\d+:\d+: .*nothing", done.output)


def test_a_problem_whose_variants_look_alike_has_one(tmp_path: Path) -> None:
    spec = re.sub(r"\[1\.3.*\]", "[13]", SPEC).replace("[8, 16, 32]", "[8]")
    spec = spec[: spec.index("  - id: bound")] + spec[spec.index("explanation:") :]
    ok("catalogue", "--out", tmp_path / "out", "--bank", a_bank(tmp_path / "bank", spec))
    page = (tmp_path / "out" / "problems" / "sample.html").read_text(encoding="utf-8")
    assert page.count("A model with 13 billion") == 1
    assert "Variant 1" not in page
