"""What `nvidia-smi` says of a GPU: driver, clocks, power and temperature. It sets nothing."""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import dataclass, field

_FIELDS = (
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.draw",
    "power.limit",
    "temperature.gpu",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """MHz, W and degrees Celsius by the names of `nvidia-smi`; empty where it does not say."""

    driver: str | None = None
    values: dict[str, float] = field(default_factory=dict)


def clocks(uuid: object = None) -> Clocks:
    """What it says now of the device with *uuid*, or of the first. Needs no right to set any."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return Clocks()
    query = f"--query-gpu=driver_version,{','.join(_FIELDS)}"
    which = []
    if uuid is not None:
        name = str(uuid)
        which = ["-i", name if name.startswith(("GPU-", "MIG-")) else f"GPU-{name}"]
    try:
        done = subprocess.run(  # noqa: S603 - what the system calls nvidia-smi
            [program, query, "--format=csv,noheader,nounits", *which],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return Clocks()
    return _read(done.stdout) if done.returncode == 0 else Clocks()


def _read(text: str) -> Clocks:
    """One line of comma-separated values; a device that does not know one writes words instead."""
    parts = [part.strip() for part in (text.splitlines() or [""])[0].split(",")]
    if len(parts) != len(_FIELDS) + 1:
        return Clocks()
    values = {}
    for name, part in zip(_FIELDS, parts[1:], strict=True):
        try:
            value = float(part)
        except ValueError:
            continue
        if math.isfinite(value):
            values[name] = value
    return Clocks(driver=parts[0][:40] or None, values=values)
