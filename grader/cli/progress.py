"""Progress of long work: a bar on a terminal, else a line every minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from grader.text.words import count_of

EVERY_SECONDS = 60.0
"""Seconds between two lines if there is no terminal."""
_FEWEST = 5
"""The number of finished items from which the remaining time is estimated."""


class Tracker:
    """Counts finished items, and keeps a few words to show beside their number."""

    def __init__(self, count: Callable[[str], None], show: Callable[[str], None] | None = None):
        self.text = ""
        self._count, self._show = count, show

    def __call__(self, name: str, /) -> None:
        """Counts the item *name* as finished."""
        self._count(name)

    def show(self, text: str) -> None:
        """Shows *text* beside the progress, in place of an earlier one."""
        if text != self.text:
            self.text = text
            if self._show is not None:
                self._show(text)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Tracker]:
    """Yields a function to call with the name of each finished item out of *total*, and shows the
    progress and an estimate of the remaining time on stderr while the block runs."""
    if not total:
        yield Tracker(lambda _: None)
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Left

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
        with Progress(
            *columns,
            TextColumn("{task.fields[more]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task(what, total=total, more="")
            yield Tracker(lambda _: bar.advance(task), lambda text: bar.update(task, more=text))
    else:
        with _print_progress_lines(what, total) as tracker:
            yield tracker


@contextmanager
def _print_progress_lines(what: str, total: int) -> Iterator[Tracker]:
    """Yields a tracker, and prints a line to stderr every minute until the block ends."""
    finished: list[str] = []
    over, began = threading.Event(), time.monotonic()
    tracker = Tracker(finished.append)

    def write() -> None:
        while not over.wait(EVERY_SECONDS):
            line = progress_line(what, len(finished), total, time.monotonic() - began)
            more = f"; {tracker.text}" if tracker.text else ""
            click.echo(f"{line}{more}", err=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield tracker
    finally:
        over.set()
        writer.join()


def progress_line(what: str, done: int, total: int, seconds: float) -> str:
    """Returns the progress after *seconds* as one line for a log.

    >>> progress_line("executing", 40, 100, 200.0)
    'executing: 40 of 100 done; about 5 min left'
    """
    line = f"{what}: {done} of {total} done"
    if done < _FEWEST:  # so few say little about the rest
        return line
    return f"{line}; about {duration_text(seconds / done * (total - done))} left"


def describe_run_time(
    count: int, *, executing: float, notebooks: float, writing: float, own_cpu: float
) -> str:
    """Returns where the time of a run on a cluster went; all times are in seconds.

    >>> describe_run_time(600, executing=130.0, notebooks=1860.0, writing=8.2, own_cpu=9.0)
    'executed 600 notebooks in 2 min, 14.3 at a time on average (3.1 s each); pages took 8 s; \
this machine used 9 s of CPU time'
    """
    at_once = notebooks / max(executing, 0.001)
    return (
        f"executed {count_of(count, 'notebook')} in {duration_text(executing)}, {at_once:.1f} at a "
        f"time on average ({notebooks / count:.1f} s each); pages took {duration_text(writing)}; "
        f"this machine used {duration_text(own_cpu)} of CPU time"
    )


def duration_text(seconds: float) -> str:
    """Returns *seconds* in a rounded form for estimates.

    >>> [duration_text(s) for s in (0.4, 47, 160, 9000)]
    ['1 s', '47 s', '3 min', '2.5 h']
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
