"""Unexpected exceptions: one sentence on the screen, and a crash report in a file."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType

import click

_SECRET = re.compile(r"key|token|secret|password", re.I)
"""Options whose values are left out of reports."""
_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")
_HIDDEN = "***"


def report_crash(error: BaseException, arguments: Sequence[str]) -> None:
    """Writes a crash report for *error* to a file, and a message that names it to stderr.

    Never raises: if the file can't be written, the message says so.
    """
    what = f"unexpected {type(error).__name__}{_crash_location(error)}"
    try:
        path = _write_report(_report_text(error, arguments))
    except Exception as why:  # noqa: BLE001 - for example, a full disk
        print_message(f"{what}\n  fix: try again; the crash report could not be written: {why}")
        return
    print_message(f"{what}\n  fix: remove private data from {path}, and attach it to a bug report")


def watch_threads(arguments: Sequence[str]) -> None:
    """Installs hooks so that uncaught exceptions in threads and finalizers are reported too."""

    def report_in_thread(raised: threading.ExceptHookArgs) -> None:
        error = raised.exc_value
        if error is not None and not isinstance(error, SystemExit):
            report_crash(error, arguments)

    def report_unraisable(ignored: sys.UnraisableHookArgs) -> None:
        error = ignored.exc_value
        if isinstance(error, Exception) and not isinstance(error, OSError):
            report_crash(error, arguments)

    def report_in_main_thread(
        _type: type[BaseException], error: BaseException, _trace: TracebackType | None
    ) -> None:
        report_crash(error, arguments)

    threading.excepthook = report_in_thread
    sys.unraisablehook = report_unraisable
    sys.excepthook = report_in_main_thread


def print_message(text: str) -> None:
    """Writes a message to stderr; does nothing if stderr is closed."""
    try:
        click.echo(f"grader: {text}" if "\n" not in text else f"grader:\n{text}", err=True)
    except (OSError, ValueError):
        return


def _crash_location(error: BaseException) -> str:
    """Returns the innermost line of this package in the traceback, such as
    " at grader/grading/score.py:12"."""
    from pathlib import Path

    package = Path(__file__).parents[1]
    location, trace = "", error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            location = f" at {file.relative_to(package.parent)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location


def _report_text(error: BaseException, arguments: Sequence[str]) -> str:
    """Returns the text of a crash report, with secrets masked and the home folder as `~`."""
    import platform
    import traceback
    from pathlib import Path

    from grader import __version__

    secrets = [value for value in _secret_values(arguments) if value]
    text = "\n".join(
        [
            f"grader {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"command: grader {' '.join(_mask_secrets(arguments))}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return _IN_URL.sub(f"{_HIDDEN}@", text).replace(str(Path.home()), "~")


def _is_secret(option: str) -> bool:
    return option.startswith("--") and _SECRET.search(option) is not None


def _secret_values(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the values of options that hold secrets."""
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, value = argument.partition("=")
        if equals and _is_secret(name):
            yield value
        elif _is_secret(before) and "=" not in before:
            yield argument


def _mask_secrets(arguments: Sequence[str]) -> Iterator[str]:
    """Yields *arguments* with secrets masked, each quoted for a shell."""
    import shlex

    hidden = set(_secret_values(arguments))
    for argument in arguments:
        name, _, value = argument.partition("=")
        if argument in hidden:
            yield _HIDDEN
        elif value and value in hidden:
            yield f"{name}={_HIDDEN}"
        else:
            yield shlex.quote(argument)


def _write_report(text: str) -> str:
    """Writes *text* to a new file that only its owner can read; returns its path."""
    import os
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix="grader-crash-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path
