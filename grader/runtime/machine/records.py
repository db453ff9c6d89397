"""The records of a machine's profile: what was measured, on what, and how well it is known."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

SCHEMA = "systems-grader/runtime/machine/v1"
DEVICES = ("cpu", "cuda")

# Names are families with a point between the words; a family has one unit, but for the exceptions.
_UNITS = {
    "matmul": "FLOP/s",
    "memory": "B/s",
    "cache": "B/s",
    "sweep": "B/s",
    "transfer": "B/s",
    "call": "s",
    "dispatch": "s",
    "launch": "s",
    "process": "s",
    "thread": "s",
    "loopback": "s",
    "allreduce": "s",
    "scaling": "1",
}
_EXCEPTIONS = {
    "matmul.int8": "op/s",
    "loopback.bandwidth": "B/s",
    "allreduce.bandwidth": "B/s",
}
_NAME = re.compile(r"[a-z0-9]+(\.[A-Za-z0-9-]+)+")


def unit_of(name: str) -> str:
    """The unit of the figure *name*. Raises ValueError when no figure is called that.

    >>> unit_of("matmul.fp32"), unit_of("process.fork")
    ('FLOP/s', 's')
    """
    family = name.partition(".")[0]
    if family not in _UNITS or not _NAME.fullmatch(name) or len(name) > 60:
        raise ValueError(f"there is no figure called '{name[:60]}'")
    return _EXCEPTIONS.get(name, _UNITS[family])


def in_words(size: int) -> str:
    """Bytes by powers of 1024.

    >>> in_words(16 << 10), in_words(3 << 29), in_words(100)
    ('16 KiB', '1.5 GiB', '100 B')
    """
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << bits:
            return f"{size / (1 << bits):.4g} {unit}"
    return f"{size} B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number: the median of `count` samples, and how far it can be trusted.

    Raises ValueError when the numbers contradict each other.
    """

    name: str
    """Such as `matmul.fp32`; unique together with device, threads and working set."""
    device: str = "cpu"
    threads: int | None = None
    """Threads that worked at the same time; None where the question has no meaning."""
    working_set: int | None = None
    """Bytes that were touched again and again; None where the question has no meaning."""
    unit: str
    median: float
    low: float
    """Lower end of the 95% interval of the median."""
    high: float
    q1: float
    """A quarter of the samples are lower."""
    q3: float
    best: float
    """The fastest sample: what other load on the machine has disturbed least."""
    count: int
    """Samples, the warm-up left out; each may be the mean of many calls."""
    settled: bool
    """Whether the interval was narrow enough before the time for this figure was used up."""
    how: str
    """How it was measured, in one sentence."""

    def __post_init__(self) -> None:
        for name, low, value in (
            ("threads", 1, self.threads),
            ("working_set", 1, self.working_set),
            ("count", 1, self.count),
        ):
            if value is not None and value < low:
                raise ValueError(f"{name} is {value}, which is less than {low}")
        if self.device not in DEVICES:
            raise ValueError(f"device is '{self.device[:20]}', which is none of cpu, cuda")
        if self.unit != unit_of(self.name):
            raise ValueError(f"the unit of {self.name} is {unit_of(self.name)}")
        for name in ("median", "low", "high", "q1", "q3", "best"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} is {value}, which is not a positive number")
        if not (self.low <= self.median <= self.high and self.q1 <= self.median <= self.q3):
            raise ValueError("the median lies outside its interval or its quartiles")
        if (self.best > self.q1) if self.unit == "s" else (self.best < self.q3):
            raise ValueError("best is not the best sample")

    @property
    def half_width(self) -> float:
        """Half of the 95% interval of the median, as a share of the median."""
        return (self.high - self.low) / 2 / self.median

    @property
    def spread(self) -> float:
        """The interquartile range, in the figure's unit."""
        return self.q3 - self.q1

    @property
    def key(self) -> tuple[str, str, int | None, int | None]:
        """What no two figures of a profile share."""
        return self.device, self.name, self.threads, self.working_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One level of the processor's caches for data."""

    level: int
    size: int
    """Bytes of one instance."""
    instances: int = 1
    """How many of them the usable CPUs have among them."""

    @property
    def total(self) -> int:
        """Bytes of all instances."""
        return self.size * self.instances


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The machine; None and empty where the system does not say."""

    cpu: str
    """The processor's own name."""
    architecture: str
    """Such as `x86_64`."""
    logical_cpus: int
    usable_cpus: int
    """CPUs that this process may use at a time, by affinity and by the quota of its cgroup."""
    physical_cores: int | None = None
    numa_nodes: int | None = None
    features: tuple[str, ...] = ()
    """Vector and matrix instructions, such as `avx512f`."""
    caches: tuple[Cache, ...] = ()
    """From level 1 on."""
    memory_bytes: int | None = None
    available_bytes: int | None = None
    """Memory that could be had when the measuring began."""
    governor: str | None = None
    """Of the clock frequency, such as `performance`."""
    max_mhz: float | None = None
    virtual: bool | None = None
    """Whether the processor says that it runs under a hypervisor."""
    load: float | None = None
    """Processes that wanted a CPU just before: the one-minute load average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """What the figures were measured with."""

    system: str
    """Such as `Linux`."""
    kernel: str
    """The release of the operating system's kernel."""
    python: str
    grader: str
    numpy: str | None = None
    torch: str | None = None
    blas: str | None = None
    """What multiplied the matrices."""
    torch_threads: int | None = None
    """As torch chose them before it was told."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that set numbers of threads, where they are set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """The CUDA device that was measured."""

    name: str
    capability: str
    """Compute capability, such as `9.0`."""
    memory_bytes: int
    multiprocessors: int
    l2_bytes: int | None = None
    driver: str | None = None
    cuda: str | None = None
    """The CUDA version that torch was built for."""
    clocks_idle: Mapping[str, float] = field(default_factory=dict)
    """What `nvidia-smi` said before: MHz, W and degrees Celsius by its own names."""
    clocks_busy: Mapping[str, float] = field(default_factory=dict)
    """The same during matrix products."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that was not measured."""

    what: str
    why: str
    fix: str = ""
    """How to get it; empty where nothing helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineProfile:
    """What one machine was measured to do. Raises ValueError when two figures share a key."""

    taken: str
    """When, ISO 8601 UTC."""
    seconds: float
    """How long the measuring took."""
    device: str
    """`cpu`, or `cuda` when a GPU was measured too."""
    quick: bool
    hardware: Hardware
    software: Software
    gpu: Gpu | None = None
    figures: tuple[Figure, ...]
    left_out: tuple[LeftOut, ...] = ()

    def __post_init__(self) -> None:
        seen: set[object] = set()
        for figure in self.figures:
            if figure.key in seen:
                raise ValueError(f"{figure.name} is there twice")
            seen.add(figure.key)

    @property
    def id(self) -> str:
        """The first 16 hex digits of the SHA-256 of the profile's canonical JSON."""
        return hashlib.sha256(_canonical(_data(self)).encode()).hexdigest()[:16]

    def find(
        self,
        name: str,
        *,
        device: str = "cpu",
        threads: int | None = None,
        working_set: int | None = None,
    ) -> Figure | None:
        """The first figure of that name; None for threads and working set means any."""
        for figure in self.figures:
            if (
                (figure.name, figure.device) == (name, device)
                and threads in (None, figure.threads)
                and working_set in (None, figure.working_set)
            ):
                return figure
        return None

    def to_json(self) -> str:
        """The profile as JSON for a file, with its id; `from_json` reads it back."""
        data = {"schema": SCHEMA, "id": self.id, **_data(self)}
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _data(profile: MachineProfile) -> dict[str, object]:
    data = asdict(profile)
    data["hardware"]["features"] = list(profile.hardware.features)
    return data


def _canonical(data: dict[str, object]) -> str:
    return json.dumps(
        {"schema": SCHEMA, **data},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
