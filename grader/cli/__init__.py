"""The command `grader`: one module a command, loaded when it is asked for."""

from __future__ import annotations

import os
import sys

import click

from grader import __version__
from grader.cli.lazy import LazyGroup
from grader.cli.options import examples, one_screen
from grader.errors import GraderError, SpecErrors

# The sentences stand here so that `grader --help` loads none of the commands.
_COMMANDS = {
    "list": "List the problems of the bank.",
    "show": "Show one problem as a student sees it.",
    "verify": "Check problems, their keys and their solutions.",
    "coverage": "Show which concepts are examined, and by which problems.",
    "new": "Write a commented skeleton of a problem and its solution.",
    "schema": "Print the JSON Schema of problems or sets, for editors.",
    "render": "Make a release: every student's notebook for a set.",
    "key": "Print one student's key.",
    "solve": "Write one student's notebook with every answer filled in.",
    "check": "Check a notebook before you hand it in.",
    "grade": "Execute and score submissions.",
    "enter": "Score answers that were given on paper.",
    "score": "Score stored answers again, without executing anything.",
    "mark": "Give points by hand, or list what waits for a person.",
    "report": "Write the class report and the feedback pages.",
    "export": "Write results or an exam for another system.",
    "classroom": "Set up and run a class on GitHub, Classroom 50 or Gradescope.",
    "doctor": "Show what this machine can run, and test the sandbox.",
    "calibrate": "Measure the performance of this machine.",
    "demo": "Run a whole exam on made-up submissions.",
}

_GROUPS = {
    "Bank": ("list", "show", "verify", "coverage", "new", "schema"),
    "Exam": ("render", "key", "solve", "check"),
    "Grading": ("grade", "enter", "score", "mark", "audit", "report"),
    "Exchange": ("export", "classroom"),
    "Machine": ("doctor", "calibrate", "demo"),
}


@click.group(
    cls=LazyGroup,
    sentences=_COMMANDS,
    module="grader.cli.{}_command",
    noun="command",
    groups=_GROUPS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("grader demo", "grader show kv-cache-size"),
)
@click.version_option(__version__, prog_name="grader")
def grader() -> None:
    """Grade machine learning systems exams in which every student has individual numbers."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command; exits 0 on success, 1 when something did not hold, 2 for wrong use."""
    if "GRADER_PACK_KEY" in os.environ:  # whatever the command is, no child of it needs the key
        from grader.sealed import take

        take()
    try:
        code = grader.main(args=arguments, prog_name="grader", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        _say("stopped; what was finished is kept")
        sys.exit(130)
    except GraderError as error:
        _say(_screen(error))
        sys.exit(2)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()  # whoever reads our output has seen enough, as in `| head`
            sys.exit(0)
        where = f"{error.filename}: " if error.filename else ""
        _say(
            f"{where}{(error.strerror or str(error)).lower()}\n  fix: check the path, its "
            "permissions and the free space"
        )
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _screen(error: GraderError) -> str:
    """The error on one screen."""
    if isinstance(error, SpecErrors):
        return one_screen(error.errors)
    return str(error)


def _say(text: str) -> None:
    click.echo(f"grader: {text}" if "\n" not in text else f"grader:\n{text}", err=True)
