"""A pipeline schedule: which micro-batch each stage works on, computed by simulation.

Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
Megatron-LM", SC 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from grader.figures import style
from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.model.spec import Expr, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_MOST_CELLS = 400
_NARROWEST = 13
"""Width in CSS pixels from which a slot shows the number of its micro-batch."""
_NARROWEST_HATCH = 4
"""Width in CSS pixels from which a slot is hatched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSchedule(Figure):
    """Forward and backward passes of each stage over time, with its idle time."""

    stages: Expr
    micro_batches: Expr
    order: Literal["gpipe", "1f1b"] = "1f1b"
    """All forward passes first, or one forward and one backward pass alternately."""
    forward: Expr = 1
    """The time of a forward pass of a micro-batch on a stage, in any unit."""
    backward: Expr = 2
    """The time of a backward pass, in the same unit."""


class StagePass(NamedTuple):
    """A forward or backward pass of one micro-batch on one stage."""

    stage: int
    micro_batch: int
    """Counted from 1."""
    backward: bool
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePicture:
    """The passes of a pipeline's step, with times in forward passes."""

    stages: int
    order: str
    slots: tuple[StagePass, ...]

    @property
    def end(self) -> float:
        """The time of the last pass."""
        return max(slot.end for slot in self.slots)


def simulate(
    stages: int, micro_batches: int, order: str, forward: float, backward: float
) -> tuple[StagePass, ...]:
    """Returns all passes of a step; each starts once its stage is free and its input exists."""
    pending = [list(_order_passes(stage, stages, micro_batches, order)) for stage in range(stages)]
    ends: dict[tuple[int, int, bool], float] = {}
    free, slots = [0.0] * stages, []
    while any(pending):
        for stage, passes in enumerate(pending):
            while passes:
                number, back = passes[0]
                needed = _find_input(stage, stages, number, back)
                if needed is not None and needed not in ends:
                    break
                start = max(free[stage], ends[needed] if needed else 0.0)
                end = free[stage] = start + (backward if back else forward)
                ends[stage, number, back] = end
                slots.append(StagePass(stage, number, back, start, end))
                passes.pop(0)
    return tuple(sorted(slots))


def _order_passes(stage: int, stages: int, count: int, order: str) -> list[tuple[int, bool]]:
    """Returns the passes of a stage in order: micro-batch, and whether it is backward."""
    warm_up = count if order == "gpipe" else min(stages - stage, count)
    passes = [(n, False) for n in range(1, warm_up + 1)]
    for n in range(1, count + 1):
        passes.append((n, True))
        if warm_up + n <= count:
            passes.append((warm_up + n, False))
    return passes


def _find_input(stage: int, stages: int, number: int, back: bool) -> tuple[int, int, bool] | None:
    """Returns the pass that a pass waits for on another stage; None if there is none."""
    if not back:
        return (stage - 1, number, False) if stage else None
    return (stage + 1, number, True) if stage + 1 < stages else (stage, number, False)


class ScheduleType(FigureTypeOf[PipelineSchedule, SchedulePicture]):
    """Draws a row per stage, from the first at the top."""

    spec = PipelineSchedule

    def picture(self, figure: PipelineSchedule, read: FieldReader) -> SchedulePicture:
        """Returns the passes of one step, with their simulated times."""
        stages = read.count(figure.stages, "stages", most=16)
        count = read.count(figure.micro_batches, "micro_batches", most=64)
        if stages * count > _MOST_CELLS:
            what = f"{stages} stages with {count} micro-batches are too many to draw"
            fix = f"draw fewer, for example min({figure.micro_batches}, {_MOST_CELLS // stages})"
            raise read.error(("micro_batches",), what, fix)
        forward = read.value(figure.forward, "forward")
        ratio = read.with_names(_forward=forward)
        back = ratio.positive(f"({figure.backward}) / _forward", "backward")
        return SchedulePicture(
            stages=stages,
            order=figure.order,
            slots=simulate(stages, count, figure.order, 1.0, back),
        )

    def height(self, picture: SchedulePicture) -> int:
        """Returns a height in proportion to the stages."""
        return min(320, 96 + 28 * picture.stages)

    def paint(self, picture: SchedulePicture, canvas: Canvas) -> None:
        """Draws the passes, and shades the idle time."""
        axes = style.plot_area(canvas, left=62, right=14, bottom=64, top=12)
        rows = [f"stage {n}" for n in range(picture.stages)]
        style.time_axes(
            axes, rows, picture.end, "Time, in forward passes of a micro-batch on a stage"
        )
        pixels = (560 - 76) / picture.end
        idle = [(0.0, stage - 0.4, picture.end, 0.8) for stage in range(picture.stages)]
        style.add_boxes(axes, idle, facecolor=style.IDLE, lw=0)
        for back in (False, True):
            slots = [slot for slot in picture.slots if slot.backward is back]
            _paint_slots(axes, slots, pixels)
        names = {"gpipe": "GPipe", "1f1b": "1F1B"}
        style.category_legend(
            canvas, ["forward", "backward"], title=names[picture.order], idle=True
        )


def _paint_slots(axes: Axes, slots: list[StagePass], pixels: float) -> None:
    """Draws passes of one direction as one path, with the numbers for which there is room."""
    fill = style.fill_of(1 if slots[0].backward else 0)
    width = pixels * (slots[0].end - slots[0].start)
    if width < _NARROWEST_HATCH:
        fill["hatch"] = ""
    boxes = [(slot.start, slot.stage - 0.4, slot.end - slot.start, 0.8) for slot in slots]
    style.add_boxes(axes, boxes, lw=0.6 if pixels > 4 else 0.25, clip_on=False, **fill)
    for slot in slots if width >= _NARROWEST else ():
        axes.text(
            (slot.start + slot.end) / 2, slot.stage, str(slot.micro_batch), ha="center",
            va="center", fontsize=7.5, color=style.INK, bbox=style.HALO if fill["hatch"] else None,
        )  # fmt: skip


figure_types.add("pipeline")(ScheduleType())
