"""What a notebook sees of a runner's environment: nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.notebook import Cell, read, write
from tests.helpers.banks import a_bank
from tests.helpers.commands import ok

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
TOLD = "a-secret-of-the-runner"
NAMES = (
    "GITHUB_TOKEN", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_CACHE_URL",
    "CLASSROOM_TOKEN", "RUNNER_TEMP", "AWS_SECRET_ACCESS_KEY",
)  # fmt: skip
# The kernel's own variables, those of every process that it can look at, and of a child.
LOOK = """
import os, glob, subprocess
texts = {"own": "\\n".join(f"{k}={v}" for k, v in os.environ.items())}
texts["child"] = subprocess.run(["env"], capture_output=True, text=True).stdout
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        texts[path] = open(path, "rb").read().decode("utf-8", "replace")
    except OSError:
        pass
found = sorted(where for where, text in texts.items() if "a-secret-of-" + "the-runner" in text)
names = sorted(k for k in os.environ if k.startswith(("GITHUB", "ACTIONS", "GRADER", "GH_")))
raise RuntimeError(f"looked at {len(texts)}; values {found}; names {names}; end")
"""


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, and a notebook that looks around."""
    home = tmp_path_factory.mktemp("environment")
    bank = a_bank(home / "bank")
    ok("render", "quiz", "--student", "ada", "--out", home / "release", "--bank", bank)
    path = home / "submissions" / "ada.ipynb"
    ok("solve", home / "release", "--student", "ada", "--out", path, "--bank", bank)
    solved = read(path.read_bytes())
    cells = [*solved.cells, Cell(type="code", id="look", source=LOOK)]
    path.write_bytes(write(cells, solved.metadata))
    return home


def seen(command: list[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **dict.fromkeys(NAMES, TOLD), **more}
    return subprocess.run(
        [sys.executable, "-m", "grader", *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.thorough
def test_behind_the_wall_nothing_of_the_runner_is_to_be_seen(handed_in: Path) -> None:
    from grader.errors import GraderError
    from grader.runtime.sandbox import choose_sandbox

    try:
        choose_sandbox("required")
    except GraderError as error:
        pytest.skip(f"the sandbox needs more than this machine offers: {error}")
    home, out = handed_in, handed_in / "results"
    key = home / "exam.key"
    ok("classroom", "seal", home / "release", "--out", home / "exam.pack", "--key-file", key)
    more = {"GRADER_PACK_KEY": key.read_text().strip()}
    graded = ["grade", str(home / "submissions"), "--pack", str(home / "exam.pack")]
    done = seen([*graded, "--out", str(out), "--sandbox", "required"], more)
    assert done.returncode == 0, done.stderr
    page = (out / "feedback" / "ada.html").read_text()
    found = re.search(r"looked at (\d+); values (.*?); names (.*?); end", page)
    assert found, "the notebook did not look"
    assert int(found[1]) >= 2
    assert (found[2], found[3]) == ("[]", "[]")
    grade = json.loads((out / "grades" / "ada.json").read_text())
    assert grade["score"] == grade["max_score"]


@pytest.mark.thorough
def test_the_students_own_check_hands_on_none_of_its_variables(handed_in: Path) -> None:
    """There is no wall there, and no secret either: what others hold is theirs to keep."""
    done = seen(["check", str(handed_in / "submissions" / "ada.ipynb"), "--json"], {})
    text = " ".join(json.loads(done.stdout)["trouble"])
    found = re.search(r"names (.*?); end", text)
    assert found, text
    assert found[1] == "[]"
    assert "'own'" not in text
    assert "'child'" not in text
