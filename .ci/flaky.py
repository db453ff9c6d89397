"""Runs the quick tests again and again on a busy machine, and counts how often each test fails.

usage: python .ci/flaky.py [TIMES] [ARGUMENTS OF PYTEST...]

A process that only computes runs for each core meanwhile. The exit status is 1 if any test failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

QUICK = ["-n", "auto", "--dist", "worksteal", "-m", "not slow and not thorough and not gpu"]


def failed_tests(report: Path) -> list[str]:
    """Returns the names of the tests that failed according to a JUnit report."""
    cases = ElementTree.parse(report).iter("testcase")  # noqa: S314 - pytest has just written it
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def main(times: int, arguments: list[str]) -> int:
    """Runs the tests *times* times and prints what failed. Returns the exit status."""
    failures: Counter[str] = Counter()
    with ExitStack() as stack:
        report = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "report.xml"
        for _ in range(os.cpu_count() or 1):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        for number in range(1, times + 1):
            began = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode not in (0, 1):
                sys.exit(f"{done.stdout}{done.stderr}")
            failed = failed_tests(report)
            failures.update(failed)
            seconds = time.monotonic() - began
            print(f"run {number} of {times}: {len(failed)} failed, {seconds:.0f} s", flush=True)
    for name, count in failures.most_common():
        print(f"{count} of {times}: {name}")
    return int(bool(failures))


if __name__ == "__main__":
    times, *more = sys.argv[1:] or ["10"]
    sys.exit(main(int(times), more or QUICK))
