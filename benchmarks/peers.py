"""The other graders, each in an environment of its own under `.bench/`, made from PyPI.

    python benchmarks/peers.py [nbgrader otter]

Versions are pinned, torch too: a newer one may bring gigabytes of CUDA packages.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / ".bench"
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Peer:
    """A grader that is not ours."""

    name: str
    requirements: tuple[str, ...]

    @property
    def bin(self) -> Path:
        """Where its commands are."""
        return HOME / self.name / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.bin / "python"

    def install(self) -> None:
        """Makes the environment, unless it is there. Raises RuntimeError."""
        done = HOME / self.name / ".installed"
        wanted = "\n".join(self.requirements)
        if done.exists() and done.read_text() == wanted:
            return
        print(f"installing {self.requirements[0]} into {HOME / self.name} ...", flush=True)
        _call([sys.executable, "-m", "venv", str(HOME / self.name)])
        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _call([*pip, *self.requirements])
        done.write_text(wanted)


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{' '.join(command[:4])} ...: {last}")


NBGRADER = Peer("nbgrader", ("nbgrader==0.9.6", "ipykernel==7.4.0", "numpy==2.4.6", TORCH))
OTTER = Peer("otter", ("otter-grader==7.0.0", "ipykernel==7.4.0", "numpy==2.4.6", TORCH))
PEERS = {peer.name: peer for peer in (NBGRADER, OTTER)}


def main() -> None:
    for name in sys.argv[1:] or PEERS:
        PEERS[name].install()


if __name__ == "__main__":
    main()
