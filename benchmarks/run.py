"""All benchmarks, then the table and the plots: what `make bench` runs.

    python benchmarks/run.py [--full] [--quick] [--out benchmarks/results]

Each part writes its own JSON as it goes, so that what was measured before a failure is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import report

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the slow contenders on all classes")
    parser.add_argument("--quick", action="store_true", help="tiny classes, no peers: does it run?")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    graded = ["--full"] if chosen.full else []
    staged: list[str] = []
    grown: list[str] = []
    if chosen.quick:
        graded = ["--students", "2", "--repeats", "1", "--only", "ours,nbclient,floor"]
        staged = ["--students", "3", "--many", "100", "--repeats", "1", "--no-gate"]
        grown = ["--sizes", "2", "5", "--execute"]
    parts = {"throughput.py": graded, "stages.py": staged, "growth.py": grown}
    failed = []
    for script, options in parts.items():
        print(f"== {script}", flush=True)
        command = [sys.executable, str(HERE / script), "--out", str(chosen.out), *options]
        if subprocess.run(command, check=False).returncode:
            failed.append(script)
    print("== results", flush=True)
    written = report.text(chosen.out)
    (chosen.out / report.FILE).write_text(written, encoding="utf-8")
    drawn = [sys.executable, str(HERE / "plots.py"), "--results", str(chosen.out)]
    if subprocess.run(drawn, stderr=subprocess.DEVNULL, check=False).returncode:
        print('  no plots: is matplotlib here? pip install -e ".[bench]"')
    print(f"\n{written}\n{chosen.out / report.FILE}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; what was measured before is in the table")


if __name__ == "__main__":
    main()
