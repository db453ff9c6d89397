"""What the figures were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

_PACKAGES = ("ipykernel", "jupyter_client", "nbclient", "numpy", "torch")


def describe() -> dict[str, object]:
    """Processor, memory, system and versions; no name of a machine or a person."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            packages[name] = "not installed"
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "python": platform.python_version(),
        "packages": packages,
        "date": datetime.now(UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
