"""A machine's profile: what was measured, on what, how certain it is, and its file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.errors import SetupError

SCHEMA = "systems-grader/machine/v1"
FIX = "measure this machine again with `grader calibrate`"


def unit_of(name: str) -> str:
    """Returns the unit of the figure *name*.

    >>> unit_of("matmul.fp32"), unit_of("memory.read"), unit_of("launch.enqueue")
    ('FLOP/s', 'B/s', 's')
    """
    if name == "matmul.int8":
        return "op/s"
    return {"matmul": "FLOP/s", "memory": "B/s"}.get(name.partition(".")[0], "s")


def format_bytes(size: int) -> str:
    """Returns a number of bytes in powers of 1024.

    >>> format_bytes(16 << 10), format_bytes(3 << 29), format_bytes(100)
    ('16 KiB', '1.5 GiB', '100 B')
    """
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << bits:
            return f"{size / (1 << bits):.4g} {unit}"
    return f"{size} B"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFigure:
    """One measured number: the median of `count` samples, and how certain it is."""

    name: str
    """Such as `matmul.fp32`; unique together with device, threads, and working set."""
    device: str = "cpu"
    threads: int | None = None
    """Threads that worked at the same time; None if threads do not apply."""
    working_set: int | None = None
    """Bytes that were touched repeatedly; None if memory does not matter."""
    unit: str
    median: float
    low: float
    """Lower end of the 95% interval of the median."""
    high: float
    q1: float
    """First quartile of the samples."""
    q3: float
    best: float
    """The fastest sample, which other programs have disturbed least."""
    count: int
    """Samples, without the warm-up; each may be the mean of many calls."""
    settled: bool
    """Whether the interval was narrow enough before the time for this figure was used up."""
    how: str
    """How it was measured, in one sentence."""

    @property
    def half_width(self) -> float:
        """Half of the 95% interval of the median, as a share of the median."""
        return (self.high - self.low) / 2 / self.median

    @property
    def spread(self) -> float:
        """The interquartile range, in the figure's unit."""
        return self.q3 - self.q1


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLevel:
    """One level of the processor's data caches."""

    level: int
    size: int
    """Bytes of one instance."""
    instances: int = 1
    """Instances that the usable CPUs share."""

    @property
    def total(self) -> int:
        """The size of all instances of this cache, in bytes."""
        return self.size * self.instances


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The machine; None and empty if the system does not tell."""

    cpu: str
    """The processor's name."""
    architecture: str
    """Such as `x86_64`."""
    logical_cpus: int
    usable_cpus: int
    """CPUs that this process may use, by its affinity and the quota of its cgroup."""
    caches: tuple[CacheLevel, ...] = ()
    """From level 1 on."""
    memory_bytes: int | None = None
    available_bytes: int | None = None
    """Memory that was available when measuring began."""
    load: float | None = None
    """The one-minute load average before measuring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The software that was measured with."""

    system: str
    """Such as `Linux`."""
    kernel: str
    """The release of the operating system's kernel."""
    python: str
    grader: str
    numpy: str | None = None
    torch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """The CUDA device that was measured."""

    name: str
    capability: str
    """Compute capability, such as `9.0`."""
    memory_bytes: int
    l2_bytes: int | None = None
    cuda: str | None = None
    """The CUDA version that torch was built for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that was not measured."""

    what: str
    why: str
    fix: str = ""
    """How to get it; empty if nothing helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineProfile:
    """The measurements of one machine."""

    taken: str
    """When, in ISO 8601 UTC."""
    seconds: float
    """How long measuring took."""
    device: str
    """`cpu`, or `cuda` if a GPU was measured too."""
    quick: bool
    hardware: Hardware
    software: Software
    gpu: Gpu | None = None
    figures: tuple[MeasuredFigure, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def id(self) -> str:
        """The first 16 hex digits of the SHA-256 of the profile's canonical JSON."""
        return digest(asdict(self))

    def to_json(self) -> str:
        """Returns the profile as JSON for a file, with its id; `from_json` reads it."""
        data = {"schema": SCHEMA, "id": self.id, **asdict(self)}
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(data: Mapping[str, Any]) -> str:
    """Returns the id of a profile's *data*, which are its fields without schema and id."""
    text = json.dumps(
        {"schema": SCHEMA, **data},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_profile(path: Path) -> MachineProfile:
    """Returns the profile in the file at *path*.

    Raises SetupError if the file can't be read or is not a profile.
    """
    try:
        return from_json(path.read_text(encoding="utf-8"), where=str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = (getattr(error, "strerror", None) or "it is not UTF-8").lower()
        what = f"this machine profile can't be read: {why}"
        raise SetupError(what, where=str(path), fix=FIX) from error


def from_json(text: str, *, where: str | None = None) -> MachineProfile:
    """Returns the profile that *text* contains. Unknown fields are ignored: version 0.1 had more.

    Raises SetupError, which names the field, if a field is missing or has the wrong type, or if
    the contents do not match the id: scores may depend on them.
    """
    from pydantic import TypeAdapter, ValidationError

    why = None
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            why = f"it is not JSON with the schema '{SCHEMA}'"
        else:
            profile = TypeAdapter(MachineProfile).validate_json(text, strict=True)
            contents = {name: value for name, value in data.items() if name not in {"schema", "id"}}
            if data.get("id") == digest(contents):
                return profile
            why = f"its contents do not match its id '{str(data.get('id'))[:60]}'"
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:300]
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        why = f"it is not JSON{place}"
    raise SetupError(f"this is not a machine profile: {why}", where=where, fix=FIX)
