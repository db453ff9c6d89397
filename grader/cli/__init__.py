"""The command `grader`. The module of a subcommand is loaded only when it is used."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO

import click

from grader import __version__
from grader.cli.crash import print_message, report_crash, watch_threads
from grader.cli.lazy import LazyGroup
from grader.cli.options import error_lines
from grader.cli.parameters import example_lines
from grader.errors import GraderError, SpecErrors

# The help texts are here so that `grader --help` does not have to load the commands.
_GROUPS = {
    "Bank": {
        "list": "List the problems of the bank.",
        "show": "Show one problem as a student sees it.",
        "verify": "Check problems, their keys, and their solutions.",
        "catalogue": "Write the bank as a site to browse and search.",
        "practice": "Practice problems in a browser, with verdicts at once.",
        "coverage": "Show which concepts are examined, and by which problems.",
        "new": "Write a commented skeleton of a problem and its solution.",
        "schema": "Print the JSON Schema of problems or sets, for editors.",
    },
    "Exam": {
        "render": "Make a release: every student's notebook for a set.",
        "key": "Print one student's answer key.",
        "solve": "Write one student's notebook with every answer filled in.",
        "check": "Check a notebook before you hand it in.",
    },
    "Grading": {
        "grade": "Execute and score submissions.",
        "watch": "Grade submissions as they arrive in a folder.",
        "enter": "Score answers that were given on paper.",
        "score": "Score stored answers again, without executing anything.",
        "what-if": "Show how other rules would change the totals of a class.",
        "mark": "Grade manually: list answers that need manual grading, and enter points.",
        "desk": "Grade explanations and change marks in a browser.",
        "requests": "Import and list students' regrade requests.",
        "course": "Check the course file, grant exceptions, and list late submissions.",
        "audit": "Print the audit log: who changed what, when, and why.",
        "gradebook": "Back up a gradebook, or move it to a database.",
        "archive": "Write everything that results contain about a student to a zip file.",
        "forget": "Remove everything that results contain about a student.",
        "report": "Write the class report and the feedback pages.",
        "mine": "Find expressions that explain a class's wrong answers.",
        "fairness": "Test whether some students' numbers were harder than others'.",
        "shared-answers": "List students whose answers fit another student's numbers.",
    },
    "Exchange": {
        "export": "Write results or an exam for another system.",
        "classroom": "Set up and run a class on GitHub, Classroom 50, or Gradescope.",
    },
    "Machine": {
        "doctor": "Show what this machine can run, and test the sandbox.",
        "calibrate": "Measure the performance of this machine.",
        "demo": "Run a complete exam with made-up submissions.",
    },
}
_COMMANDS = {name: text for group in _GROUPS.values() for name, text in group.items()}
_MODULES = {
    **{name: f"{name.replace('-', '_')}_command" for name in _COMMANDS},
    **dict.fromkeys(("list", "show", "coverage", "new", "schema"), "bank_commands"),
    **dict.fromkeys(("render", "key", "solve"), "release_commands"),
    **dict.fromkeys(("archive", "forget"), "personal_commands"),
    **dict.fromkeys(("mark", "enter", "audit"), "results_commands"),
    "course": "course_commands",
    "gradebook": "gradebook_commands",
}


@click.group(
    cls=LazyGroup,
    sentences=_COMMANDS,
    package="grader.cli",
    modules=_MODULES,
    noun="command",
    groups=_GROUPS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example_lines("grader demo", "grader show kv-cache-size"),
)
@click.version_option(__version__, prog_name="grader")
def grader() -> None:
    """Grade machine learning systems exams in which every student has individual numbers."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command and exits, never with a traceback.

    The exit status is 0 on success, 1 if a check failed, 2 after a usage error or an internal
    error, and 130 after Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else arguments
    watch_threads(given)
    _prepare_stdout()
    if "GRADER_PACK_KEY" in os.environ:  # no child process of any command needs the key
        from grader.release.sealed import take_from_environment

        take_from_environment()
    try:
        sys.exit(_run_command(arguments))
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        print_message("stopped; finished work is kept")
        sys.exit(130)
    except GraderError as error:
        print_message(_error_text(error))
        sys.exit(2)
    except OSError as error:
        sys.exit(_report_os_error(error, given))
    except UnicodeEncodeError as error:
        sys.exit(_report_encode_error(error, given))
    except Exception as error:  # noqa: BLE001 - nothing ends in a traceback
        report_crash(error, given)
        sys.exit(2)


def _prepare_stdout() -> None:
    """Lets output never fail: if stdout is closed, it is lost; and what the encoding of stdout
    lacks is written with backslashes."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _report_encode_error(error: UnicodeEncodeError, given: list[str]) -> int:
    """Reports *error*, which mostly comes from an argument, and returns the exit status."""
    for argument in given:
        try:
            argument.encode()
        except UnicodeEncodeError:
            print_message(
                f"the argument {argument!r} is not valid UTF-8\n  fix: check the encoding of the "
                "terminal, and type the argument again"
            )
            return 2
    report_crash(error, given)
    return 2


def _run_command(arguments: list[str] | None) -> int:
    """Runs the command and returns its exit status."""
    try:
        code = grader.main(args=arguments, prog_name="grader", standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except SystemExit as error:
        if "_GRADER_COMPLETE" in os.environ:  # click exits after a completion
            return int(error.code or 0)
        if _is_closed(sys.stdout):  # click exits when a pipe is broken
            raise BrokenPipeError from error
        raise RuntimeError("something called exit(), or an internal pipe broke") from error
    sys.stdout.flush()  # a full disk or a closed pipe may show only here
    return code if isinstance(code, int) else 0


def _report_os_error(error: OSError, given: list[str]) -> int:
    """Reports *error* and returns the exit status."""
    if _is_closed(sys.stdout):
        # A reader such as `| head` has closed the pipe; Python would fail to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 0
    if error.errno is None or isinstance(error, BrokenPipeError):
        report_crash(error, given)
        return 2
    if error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
        with contextlib.suppress(OSError, ValueError):  # flushing the rest would fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    where = f"{error.filename}: " if error.filename else ""
    print_message(
        f"{where}{(error.strerror or str(error)).lower()}\n  fix: check the path, its "
        "permissions, and the free disk space"
    )
    return 2


def _is_closed(stream: TextIO) -> bool:
    """Returns whether the reading end of *stream* is closed."""
    import select

    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError, AttributeError):
        return False


def _error_text(error: GraderError) -> str:
    """Returns the error as text that fits on one screen."""
    if isinstance(error, SpecErrors):
        return error_lines(error.errors)
    return str(error)
