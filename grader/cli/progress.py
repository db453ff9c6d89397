"""Progress of long work: a bar on a terminal, else a line every minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

EVERY_SECONDS = 60.0
"""Seconds between two lines if there is no terminal."""
_FEWEST = 5
"""Finished items needed for an estimate."""


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[str], None]]:
    """Yields a function to call with the name of each finished item out of *total*, and shows the
    progress and an estimate of the remaining time on stderr while the block runs."""
    if not total:
        yield lambda _: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Left

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda _: bar.advance(task)
    else:
        with _print_lines(what, total) as count_item:
            yield count_item


@contextmanager
def _print_lines(what: str, total: int) -> Iterator[Callable[[str], None]]:
    finished: list[str] = []
    over, began = threading.Event(), time.monotonic()

    def write() -> None:
        while not over.wait(EVERY_SECONDS):
            seconds = time.monotonic() - began
            click.echo(progress_line(what, len(finished), total, seconds), err=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield finished.append
    finally:
        over.set()
        writer.join()


def progress_line(what: str, done: int, total: int, seconds: float) -> str:
    """Returns the progress after *seconds* as one line for a log.

    >>> progress_line("executing", 40, 100, 200.0)
    'executing: 40 of 100 done; about 5 min left'
    """
    line = f"{what}: {done} of {total} done"
    if done < min(_FEWEST, total - 1) or not done:
        return line
    return f"{line}; about {_duration(seconds / done * (total - done))} left"


def _duration(seconds: float) -> str:
    """Returns *seconds* in a rounded form for estimates.

    >>> [_duration(s) for s in (0.4, 47, 150, 9000)]
    ['1 s', '47 s', '3 min', '2.5 h']
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
