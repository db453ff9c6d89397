"""The steps of a collective: which ranks send to which, along a ring or down a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.style import FILLS, HALO, INK, INKS, QUIET, drawing_area
from grader.model.spec import Expr, Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_CAPTION = 20
"""The height of the caption in CSS pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveSteps(Figure):
    """Columns of ranks, with an arrow for each message of a step."""

    pattern: Literal["reduce-scatter", "all-gather", "tree"]
    """A ring that reduces or gathers chunks, or a binomial tree from rank 0."""
    ranks: Expr
    """From 2 to 16."""
    steps: Expr | None = None
    """How many steps to draw; all of them if None."""


class StepMessage(NamedTuple):
    """A message that one rank sends to another in a step, which counts from 0."""

    step: int
    sender: int
    receiver: int
    chunk: int
    """Which piece of the data; -1 for all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsPicture:
    """The messages of all steps, in the order in which they are sent."""

    pattern: str
    ranks: int
    steps: int
    messages: tuple[StepMessage, ...]


def messages_of(pattern: str, ranks: int, steps: int) -> tuple[StepMessage, ...]:
    """Returns the messages of the first *steps* steps.

    In step s of a ring, rank r sends chunk r - s (to reduce) or r + 1 - s (to gather) to the next
    rank; in step s of the tree, each of the first 2^s ranks sends everything to the rank 2^s above.
    """
    messages = []
    for step in range(steps):
        if pattern == "tree":
            half = 2**step
            near = range(min(half, ranks - half))
            messages += [StepMessage(step, r, r + half, -1) for r in near]
        else:
            ahead = 0 if pattern == "reduce-scatter" else 1
            messages += [
                StepMessage(step, r, (r + 1) % ranks, (r + ahead - step) % ranks)
                for r in range(ranks)
            ]
    return tuple(messages)


class StepsType(FigureTypeOf[CollectiveSteps, StepsPicture]):
    """Draws time downward, and the ranks from left to right."""

    spec = CollectiveSteps

    def picture(self, figure: CollectiveSteps, read: FieldReader) -> StepsPicture:
        """Returns the messages of the steps to draw."""
        ranks = read.count(figure.ranks, "ranks", least=2, most=16)
        most = (ranks - 1).bit_length() if figure.pattern == "tree" else ranks - 1
        steps = most
        if figure.steps is not None:
            steps = read.count(figure.steps, "steps", most=most)
        messages = messages_of(figure.pattern, ranks, steps)
        return StepsPicture(pattern=figure.pattern, ranks=ranks, steps=steps, messages=messages)

    def height(self, picture: StepsPicture) -> int:
        """Returns a height in proportion to the steps."""
        return min(400, 56 + 62 * picture.steps) + (_CAPTION if _caption(picture) else 0)

    def paint(self, picture: StepsPicture, canvas: Canvas) -> None:
        """Draws the ranks between the steps, and the messages as arrows."""
        axes = drawing_area(canvas)
        caption = _caption(picture)
        high = self.height(picture) - (_CAPTION if caption else 0)
        apart = (high - 56) / picture.steps
        wide = (560 - 110) / max(picture.ranks - 1, 1)
        x = [84 + wide * rank for rank in range(picture.ranks)]
        top = 34
        for rank in range(picture.ranks):
            axes.text(x[rank], 14, str(rank), ha="center", va="center", weight="bold")
        axes.text(10, 14, "rank", va="center")
        holders = {0}
        for step in range(picture.steps + 1):
            y = top + apart * step
            if picture.pattern == "tree" and step:
                holders |= {m.receiver for m in picture.messages if m.step == step - 1}
            full = [picture.pattern != "tree" or rank in holders for rank in range(picture.ranks)]
            for fill, some in ((FILLS[0], True), ("white", False)):
                places = [place for place, one in zip(x, full, strict=True) if one is some]
                axes.plot(places, [y] * len(places), "o", ms=8, mfc=fill, mec=INK, mew=1)
            if step < picture.steps:
                axes.text(10, y + apart / 2, f"step {step + 1}", va="center")
        for message in picture.messages:
            start = (x[message.sender], top + apart * message.step)
            end = (x[message.receiver], top + apart * (message.step + 1))
            far = message.receiver < message.sender
            color = INKS[1 if far else 0]
            arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 5, "shrinkB": 5, "lw": 1.1}
            arrow["linestyle"] = "--" if far else "-"
            axes.annotate("", end, start, arrowprops=arrow)
            if message.chunk >= 0 and picture.ranks <= 8:
                share = 0.2 if far else 0.45
                x0, y0 = (a + share * (b - a) for a, b in zip(start, end, strict=True))
                axes.text(x0, y0, str(message.chunk), ha="center", va="center", fontsize=8,
                          bbox=HALO, color=color, zorder=6)  # fmt: skip
        axes.text(84, high + 4, caption, va="center", color=QUIET)


def _caption(picture: StepsPicture) -> str:
    """Returns what the numbers on the arrows mean, if there are any."""
    numbered = picture.ranks <= 8 and any(message.chunk >= 0 for message in picture.messages)
    return "The number on an arrow is the chunk that it carries." if numbered else ""


figure_types.add("steps")(StepsType())
