"""`grader mark`, `enter`, and `audit`: what people change in results."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from grader.cli.options import BANKS, JSON, open_bank, print_json, table
from grader.cli.parameters import FILE, argument, option, subcommand
from grader.errors import SetupError, one_line
from grader.model.grouping import group_by_key
from grader.text.words import count_of, count_points, join_names
from grader.text.words import points as worth

if TYPE_CHECKING:
    from grader.grading.manual import AnswerToRead

_SHOWN = 70
"""Characters of an answer in the list."""


@subcommand(
    "mark",
    "grader mark results                       # answers to grade manually",
    "grader mark results --student ada         # one student's, with question and rubric",
    "grader mark results --student ada --answer q4_why --points 1.5 --why 'names the cause'",
    "grader mark results --student ada --answer q4_why --withdraw --why 'wrong student'",
    "grader mark results --table marks.csv     # the same list as a table to fill in",
    "grader mark results --from marks.csv --by lin",
)
def mark_command(
    results: Path,
    student: str | None = option(
        None, metavar="ID", help="Show this student's answers, or mark one of them."
    ),
    answer: str | None = option(
        None, metavar="NAME", help="The answer's variable, such as q4_why."
    ),
    points: float | None = option(None, least=0, metavar="P", help="Points for the answer."),
    why: str = option("", metavar="TEXT", help="Reason, shown to the student."),
    by: str = option("staff", metavar="NAME", help="Your name."),
    withdraw: bool = option(False, help="Remove manually entered points."),
    table_file: Path | None = option(
        None,
        "--table",
        type=FILE,
        help="Write the answers that need manual grading to a CSV table, one row per student and "
        "part.",
    ),
    from_file: Path | None = option(
        None,
        "--from",
        type=FILE,
        help="Enter the points from such a table. If any row is invalid, nothing is entered.",
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Grade manually: list answers that need it, show them with their rubrics, and enter points.

    Manual points are stored separately from automatic ones and survive every regrade. Each change
    is recorded in the audit log: see `grader audit`.
    """
    if table_file is not None or from_file is not None:
        _write_or_enter_table(
            results, table_file, from_file, by, banks, as_json=as_json, alone=student is None
        )
    elif student is None:
        if answer is not None or points is not None or withdraw:
            raise click.UsageError("To mark an answer, add --student ID.")
        _print_waiting(results, as_json)
    elif points is None and not withdraw:
        _print_answers(results, student, answer, as_json)
    else:
        _change_points(results, student, answer, points, why, by, withdraw, banks, as_json)


def _write_or_enter_table(
    results: Path,
    table_file: Path | None,
    from_file: Path | None,
    by: str,
    banks: tuple[str, ...],
    *,
    as_json: bool,
    alone: bool,
) -> None:
    """Writes the answers that need grading to *table_file*, or enters points from *from_file*."""
    from grader.grading.manual import enter_points, write_table
    from grader.grading.results import write_results

    if not alone or (table_file and from_file):
        raise SetupError(
            "--table, --from and --student can't be used together", fix="use one of them"
        )
    if table_file is not None:
        count = write_table(results, table_file)
        if as_json:
            print_json({"table": str(table_file), "rows": count})
        else:
            click.echo(
                f"Wrote {count_of(count, 'answer')} to {table_file}. Fill in `points` and `why`, "
                "then run"
            )
            click.echo(shlex.join(("grader", "mark", str(results), "--from", str(table_file))))
        return
    assert from_file is not None  # noqa: S101 - the caller has checked it
    count = enter_points(results, from_file, by=by)
    write_results(results, open_bank(banks))
    if as_json:
        print_json({"table": str(from_file), "entered": count})
    else:
        click.echo(f"{count_of(count, 'mark')} entered or changed.")


def _print_waiting(results: Path, as_json: bool) -> None:
    """Prints the answers of all students that need manual grading."""
    from grader.grading.manual import list_waiting

    lines = list_waiting(results)
    if as_json:
        print_json(lines)
        return
    if not lines:
        click.echo("No answers need manual grading.")
        return
    # All lines of an unreadable file are alike.
    groups = group_by_key(((line["student"], line["text"]), line) for line in lines)
    rows = []
    for (student, text), alike in groups.items():
        names = join_names((line["answer"] for line in alike), most=1)
        most = sum(float(line["points"]) for line in alike)
        rows.append((student, names, worth(most), _truncate(text)))
    click.echo(table(("student", "answer", "of", "text"), rows, right=(2,)))


def _truncate(text: str) -> str:
    """Returns the beginning of *text*. With `--student`, the command shows all of it."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _print_answers(results: Path, student: str, answer: str | None, as_json: bool) -> None:
    """Prints a student's answers, each with its question, its rubric, and how to mark it."""
    from grader.grading.manual import answers_to_read

    answers = answers_to_read(results, student, answer)
    if as_json:
        print_json([waiting.as_data() for waiting in answers])
        return
    if not answers:
        click.echo(f"No answers of '{student}' need manual grading.")
    for waiting in answers:
        click.echo("\n".join(_answer_lines(waiting)))
        which = ("--student", waiting.student, "--answer", waiting.answer)
        command = shlex.join(("grader", "mark", str(results), *which))
        click.echo(f"\n{command} --points P --why TEXT\n")


def _answer_lines(answer: AnswerToRead) -> list[str]:
    """Returns the lines about one answer: its points, question, rubric, and text."""
    lines = [f"{answer.student}, {answer.answer}: {count_points(answer.max_points)}"]
    if answer.override:
        given = answer.override
        lines[0] += one_line(f"; {given.by} gave {worth(given.points)}: {given.reason}")
    for head, text in (
        ("Question", answer.ask),
        ("Rubric or key", answer.rubric),
        ("Answer", answer.text),
    ):
        if text:
            # A student's text may contain terminal escape sequences.
            lines += ["", head, *(f"  {one_line(row)}" for row in text.splitlines())]
    return lines


def _change_points(
    results: Path,
    student: str,
    answer: str | None,
    points: float | None,
    why: str,
    by: str,
    withdraw: bool,
    banks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Enters or withdraws the manual points of an answer, and prints the student's total."""
    from grader.grading.manual import give_points, withdraw_points
    from grader.grading.results import write_results

    if answer is None or (points is None) == (not withdraw):
        raise SetupError(
            "a manual mark needs a student, an answer, and either --points or --withdraw",
            fix="for example: --student ada --answer q4_why --points 1.5 --why 'names the cause'",
        )
    if withdraw:
        withdraw_points(results, student, answer, by=by, why=why)
    else:
        give_points(results, student, answer, points or 0.0, by=by, why=why)
    written = write_results(results, open_bank(banks))
    line = next(t for t in written.figures.totals if t["student"] == student)
    if as_json:
        print_json(line)
        return
    state = "" if line["complete"] else ", still open"
    most = cast("float", line["max_score"])
    click.echo(f"{student}: {worth(line['score'])} of {count_points(most)}{state}")


@subcommand(
    "enter",
    "grader render midterm --format html --roster roster.csv --out paper",
    "grader enter paper/answers.csv --release paper/release.json --out results",
)
def enter_command(
    sheet: Path = argument(type=FILE, metavar="ANSWERS.csv"),
    release: Path = option(metavar="FILE", help="The release.json that `grader render` wrote."),
    out: Path = option(metavar="RESULTS", help="Folder for grades, feedback, and report."),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Score answers from paper, typed into the answers.csv that `grader render` wrote.

    Type what is in each box, such as 28 GB, B, A C or 1B 2A 3C; if a box is empty, leave its cell
    empty. After a correction, run the command again: only changed rows are scored again. It needs
    no kernel, and writes the same files as `grader grade`.
    """
    from grader.grading.results import write_results
    from grader.integrations.paper.entry import enter_answers

    entered = enter_answers(sheet, release, out)
    written = write_results(out, open_bank(banks))
    if as_json:
        print_json(
            {
                "results": str(out),
                "scored": entered.scored_count,
                "kept": entered.kept_count,
                "absent": list(entered.absent),
                "unreadable": list(entered.unreadable),
                "open": entered.open,
                "grades": written.figures.totals,
            }
        )
        return
    for sentence in entered.unreadable:
        click.echo(f"can't be read: {sentence}", err=True)
    if entered.unreadable:
        click.echo(
            "Compare these with the paper, correct typing errors, and run the command again.",
            err=True,
        )
    click.echo(written.summary)


@subcommand(
    "audit",
    "grader audit results",
    "grader audit results --student ada",
    "grader audit results --json",
)
def audit_command(
    results: Path,
    student: str | None = option(None, metavar="ID", help="Show only entries about this student."),
    as_json: bool = JSON,
) -> None:
    """Print the audit log: every change to the results, oldest first.

    Each entry has the time in UTC, the change, who made it, the reason, and the previous value.
    Entries are never changed or removed.
    """
    from grader.grading.personal import read_audit

    lines = read_audit(results, student)
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    if not lines:
        click.echo("The audit log has no entries.")
        return
    rows = [(x.at, x.what, x.who, x.why, _detail_text(x.detail)) for x in lines]
    click.echo(table(("at", "what", "by", "why", "details"), rows))


def _detail_text(detail: object) -> str:
    """Returns the details on one line, with digests shortened to 12 characters."""
    pairs = detail.items() if isinstance(detail, dict) else ()
    return ", ".join(
        f"{name} {str(value)[:12] if name.endswith(('sha256', 'fingerprint')) else value}"
        for name, value in pairs
    )
