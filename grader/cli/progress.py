"""How far long work has come: a bar on a terminal, and elsewhere a line every minute."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from grader.errors import shown

if TYPE_CHECKING:
    from rich.progress import Task

EVERY_SECONDS = 60.0
"""Between two lines where there is no terminal."""
_FEWEST = 5
"""Finished items before an estimate is worth reading."""
_SLOW_SECONDS = 10.0
"""An item that has run for less is not named as holding up the rest."""
_LONGEST_NAME = 40
_MOST_NAMED = 3
_RECENT = 500
"""Finished items by which the rest is estimated."""


class Tracker:
    """Counts what is done of *total* items, and knows what is running and since when.

    Call it with an item's name when that is done. *clock* gives seconds.
    """

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic):
        self.done = 0
        self._what, self._total, self._clock = what, total, clock
        self._began = clock()
        self._since: dict[str, float] = {}
        self._took: deque[float] = deque(maxlen=_RECENT)
        self.changed: Callable[[], None] = lambda: None
        """Called after each that is done."""
        self._workers = 1

    def __call__(self, name: str) -> None:
        """Counts one more that is done."""
        now = self._clock()
        self.done += 1
        since = self._since.pop(name, None)
        each = (now - self._began) / self.done  # one after the other, as far as is known
        self._took.append(each if since is None else now - since)
        self.changed()

    def running(self, names: Iterable[str]) -> None:
        """Notes what is being worked on at this moment."""
        now = self._clock()
        self._since = {name: self._since.get(name, now) for name in names}
        self._workers = max(self._workers, len(self._since))

    def left(self) -> float | None:
        """About how many seconds are left; None until that can be told.

        All the work that is left is shared by as many workers as were seen, and nothing is over
        before the item that takes longest. An item that runs longer than all that are finished is
        taken to be halfway through.
        """
        if self.done < min(_FEWEST, self._total - 1) or not self._took:
            return None
        now = self._clock()
        started = [self._still(now - since) for since in list(self._since.values())]
        waiting = max(self._total - self.done - len(started), 0)
        work = sum(started) + waiting * statistics.fmean(self._took)
        return max([work / self._workers, *started])

    def _still(self, age: float) -> float:
        """How long an item is expected to run on that has run for *age* seconds."""
        longer = [took - age for took in self._took if took > age]
        return statistics.fmean(longer) if longer else age

    def slowest(self) -> list[tuple[str, float]]:
        """The few that have been running for longest, and for how many seconds."""
        now = self._clock()
        ages = [(name, now - since) for name, since in list(self._since.items())]
        slow = [one for one in ages if one[1] >= _SLOW_SECONDS]
        return sorted(slow, key=lambda one: -one[1])[:_MOST_NAMED]

    def said(self) -> str:
        """What is left and what holds it up: "about 3 min left; running longest: s004 (2 min)"."""
        left, slow = self.left(), self.slowest()
        parts = [] if left is None else [f"about {_duration(left)} left"]
        if slow:
            named = (f"{shown(name, _LONGEST_NAME)} ({_duration(age)})" for name, age in slow)
            parts.append(f"running longest: {', '.join(named)}")
        return "; ".join(parts)

    def line(self) -> str:
        """All of it in one line for a log."""
        head = f"{self._what}: {self.done} of {self._total} done"
        return "; ".join(filter(None, (head, self.said())))


def _duration(seconds: float) -> str:
    """Rounded as an estimate is.

    >>> [_duration(s) for s in (0.4, 47, 150, 9000)]
    ['1 s', '47 s', '3 min', '2.5 h']
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Tracker]:
    """A tracker that is called with the name of each item done; shows on stderr how far it is."""
    tracker = Tracker(what, total or 0)
    if not total:
        yield tracker
    elif sys.stderr.isatty():
        with _bar(tracker, what, total):
            yield tracker
    else:
        with _lines(tracker):
            yield tracker


@contextmanager
def _lines(tracker: Tracker) -> Iterator[None]:
    over = threading.Event()

    def write() -> None:
        while not over.wait(EVERY_SECONDS):
            click.echo(tracker.line(), err=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


@contextmanager
def _bar(tracker: Tracker, what: str, total: int) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
    )
    from rich.text import Text

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:  # noqa: ARG002
            return Text(tracker.said())

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        tracker.changed = lambda: bar.update(task, completed=tracker.done)
        yield
