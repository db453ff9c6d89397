"""The machine's profile: measured peak rates, memory bandwidths and overheads."""

from grader.runtime.machine.records import (
    SCHEMA,
    Cache,
    Figure,
    Gpu,
    Hardware,
    LeftOut,
    MachineProfile,
    Software,
    from_json,
    read_profile,
)
from grader.runtime.machine.roofline import peak_bandwidth, peak_rate, roofline_seconds

__all__ = [
    "SCHEMA",
    "Cache",
    "Figure",
    "Gpu",
    "Hardware",
    "LeftOut",
    "MachineProfile",
    "Software",
    "from_json",
    "peak_bandwidth",
    "peak_rate",
    "read_profile",
    "roofline_seconds",
]
