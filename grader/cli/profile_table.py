"""A machine's profile as a table for the terminal, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from grader.errors import one_line
from grader.runtime.machine.records import format_bytes

if TYPE_CHECKING:
    from rich.table import Table

    from grader.runtime.machine.records import MachineProfile, MeasuredFigure

_SECTIONS = {
    "matmul": "Matrix products",
    "memory": "Memory",
    "call": "Overheads",
    "dispatch": "Overheads",
    "launch": "Overheads",
}
_OTHERS = "Other figures"
_ORDER = [*dict.fromkeys(_SECTIONS.values()), _OTHERS]
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_BUSY = 0.5
"""Load per CPU above which the figures are doubtful."""


def format_quantity(value: float, unit: str) -> str:
    """Returns *value* with three significant digits and an SI prefix.

    >>> format_quantity(97.94e9, "FLOP/s"), format_quantity(1.272e-6, "s")
    ('97.9 GFLOP/s', '1.27 µs')
    """
    scales = _SMALL if unit == "s" else _PREFIXES
    # Rounded first: 999.9 kB/s is 1 MB/s in three digits.
    rounded = float(f"{value:.3g}")
    scale, prefix = next((pair for pair in scales if rounded >= pair[0]), scales[-1])
    return f"{_format_digits(rounded / scale)} {prefix}{unit}"


def lines_of(profile: MachineProfile) -> Iterator[str]:
    """Yields lines about the machine: its processor, caches, memory, software, and device."""
    hardware, software = profile.hardware, profile.software
    yield one_line(f"{hardware.cpu}, {hardware.architecture}")
    yield f"{hardware.usable_cpus} of {hardware.logical_cpus} CPUs usable"
    if hardware.caches:
        words = (f"L{c.level} {c.instances} x {format_bytes(c.size)}" for c in hardware.caches)
        yield f"data caches: {', '.join(words)}"
    if hardware.memory_bytes:
        yield f"memory: {format_bytes(hardware.memory_bytes)}"
    yield one_line(f"{software.system} {software.kernel}, {software.python}")
    versions = (("numpy", software.numpy), ("torch", software.torch))
    yield one_line(", ".join(f"{name} {version}" for name, version in versions if version))
    if profile.gpu:
        gpu = profile.gpu
        yield one_line(
            f"{gpu.name}, compute capability {gpu.capability}, {format_bytes(gpu.memory_bytes)}"
        )


def table_of(profile: MachineProfile) -> Table:
    """Returns a table of all figures, by section."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for title in ("threads", "median", "95%", "quartiles", "samples"):
        table.add_column(title, justify="right", no_wrap=True)
    for section, figures in groupby(sorted(profile.figures, key=_sort_key), key=_section_title):
        table.add_row(section, style="bold")
        for figure in figures:
            table.add_row(*_figure_row(figure))
        table.add_section()
    return table


def notes_of(profile: MachineProfile) -> Iterator[str]:
    """Yields notes below the table: how certain the figures are, and which are missing."""
    uncertain = sum(not figure.settled for figure in profile.figures)
    if uncertain:
        yield (
            f"~ {uncertain} of {len(profile.figures)} medians could not be measured to within 3%"
            f"{'; run without --quick for more time' if profile.quick else ''}."
        )
    load, cpus = profile.hardware.load, profile.hardware.usable_cpus
    if load is not None and load > _BUSY * cpus:
        yield (
            f"The machine was busy (load {load:.1f} on {cpus} CPUs): figures may be too low. "
            "Measure again when it is idle."
        )
    for omitted in profile.left_out:
        yield one_line(f"not measured: {omitted.what}: {omitted.why}")
        if omitted.fix:
            yield one_line(f"  fix: {omitted.fix}")


def _section_title(figure: MeasuredFigure) -> str:
    section = _SECTIONS.get(figure.name.partition(".")[0], _OTHERS)
    return f"{section} (GPU)" if figure.device == "cuda" else section


def _sort_key(figure: MeasuredFigure) -> tuple[bool, int]:
    """Returns what figures are sorted by: first those of the CPU, then the order of sections."""
    section = _SECTIONS.get(figure.name.partition(".")[0], _OTHERS)
    return figure.device == "cuda", _ORDER.index(section)


def _figure_row(figure: MeasuredFigure) -> tuple[str, ...]:
    """Returns the cells of a figure, marked with ~ if it is uncertain."""
    family, _, rest = figure.name.partition(".")
    name = rest if family in {"matmul", "memory"} else figure.name
    return (
        f"  {name}",
        str(figure.threads or ""),
        format_quantity(figure.median, figure.unit),
        f"{'' if figure.settled else '~'}±{_format_percent(figure.half_width)}",
        _format_percent(figure.spread / figure.median),
        str(figure.count),
    )


def _format_percent(share: float) -> str:
    if share >= 9.995:
        return ">999%"
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def _format_digits(value: float) -> str:
    """Returns *value* with three significant digits, without an exponent.

    >>> _format_digits(97.94), _format_digits(100.0), _format_digits(1.5)
    ('97.9', '100', '1.50')
    """
    places = max(0, 2 - (len(str(int(value))) - 1 if value >= 1 else 0))
    return f"{value:.{places}f}"
