"""Progress of long work: a bar on a terminal, else a line every minute."""

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
"""Seconds between two lines if there is no terminal."""
_FEWEST = 5
"""Finished items needed for an estimate."""
_SLOW_SECONDS = 10.0
"""Items that have run for less time are not listed as running longest."""
_LONGEST_NAME = 40
_MOST_NAMED = 3
_RECENT = 500
"""Number of finished items that the estimate is based on."""


class Tracker:
    """Counts finished items out of *total*, and records which ones are running and since when.

    Call it with the name of each item that is finished. *clock* returns seconds.
    """

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic):
        self.done = 0
        self._what, self._total, self._clock = what, total, clock
        self._began = clock()
        self._since: dict[str, float] = {}
        self._took: deque[float] = deque(maxlen=_RECENT)
        self.changed: Callable[[], None] = lambda: None
        """Called after each finished item."""
        self._workers = 1

    def __call__(self, name: str) -> None:
        """Counts the item *name* as finished."""
        now = self._clock()
        self.done += 1
        since = self._since.pop(name, None)
        each = (now - self._began) / self.done  # assumes that items ran one after another
        self._took.append(each if since is None else now - since)
        self.changed()

    def running(self, names: Iterable[str]) -> None:
        """Sets the items that are running now."""
        now = self._clock()
        self._since = {name: self._since.get(name, now) for name in names}
        self._workers = max(self._workers, len(self._since))

    def remaining_seconds(self) -> float | None:
        """Estimates the seconds that are left; None until there is enough data.

        The remaining work is divided among as many workers as were seen, but takes at least as long
        as the longest item. An item that has run longer than every finished one is assumed to be
        halfway through.
        """
        if self.done < min(_FEWEST, self._total - 1) or not self._took:
            return None
        now = self._clock()
        started = [self._remaining(now - since) for since in list(self._since.values())]
        waiting = max(self._total - self.done - len(started), 0)
        work = sum(started) + waiting * statistics.fmean(self._took)
        return max([work / self._workers, *started])

    def _remaining(self, age: float) -> float:
        """Returns the expected remaining seconds of an item that has run for *age* seconds."""
        longer = [took - age for took in self._took if took > age]
        return statistics.fmean(longer) if longer else age

    def slowest(self) -> list[tuple[str, float]]:
        """Returns the items that have been running longest, each with its seconds."""
        now = self._clock()
        ages = [(name, now - since) for name, since in list(self._since.items())]
        slow = [one for one in ages if one[1] >= _SLOW_SECONDS]
        return sorted(slow, key=lambda one: -one[1])[:_MOST_NAMED]

    def summary(self) -> str:
        """Returns a text such as "about 3 min left; running longest: s004 (2 min)"; may be
        empty."""
        left, slow = self.remaining_seconds(), self.slowest()
        parts = [] if left is None else [f"about {_duration(left)} left"]
        if slow:
            named = (f"{shown(name, _LONGEST_NAME)} ({_duration(age)})" for name, age in slow)
            parts.append(f"running longest: {', '.join(named)}")
        return "; ".join(parts)

    def log_line(self) -> str:
        """Returns the progress as one line for a log."""
        head = f"{self._what}: {self.done} of {self._total} done"
        return "; ".join(filter(None, (head, self.summary())))


def _duration(seconds: float) -> str:
    """Returns *seconds* in a rounded form for estimates.

    >>> [_duration(s) for s in (0.4, 47, 150, 9000)]
    ['1 s', '47 s', '3 min', '2.5 h']
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Tracker]:
    """Yields a Tracker, and shows its progress on stderr while the block runs."""
    tracker = Tracker(what, total or 0)
    if not total:
        yield tracker
    elif sys.stderr.isatty():
        with _show_bar(tracker, what, total):
            yield tracker
    else:
        with _print_lines(tracker):
            yield tracker


@contextmanager
def _print_lines(tracker: Tracker) -> Iterator[None]:
    over = threading.Event()

    def write() -> None:
        while not over.wait(EVERY_SECONDS):
            click.echo(tracker.log_line(), err=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


@contextmanager
def _show_bar(tracker: Tracker, what: str, total: int) -> Iterator[None]:
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
            return Text(tracker.summary())

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        tracker.changed = lambda: bar.update(task, completed=tracker.done)
        yield
