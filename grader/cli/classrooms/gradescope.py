"""`grader classroom gradescope` and `gradescope-run`: Gradescope's autograder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grader.cli.export_command import field_options, pop_fields
from grader.cli.options import BANKS, JSON, RELEASE, open_bank, print_json, print_notes
from grader.cli.parameters import EXISTING_FOLDER, FILE, argument, option, subcommand
from grader.integrations.gradescope.autograder import RunSettings, write_autograder


@subcommand(
    "gradescope",
    "grader classroom gradescope release --out autograder.zip",
    "grader classroom gradescope release --out autograder.zip --rate 3/60",
    "grader classroom gradescope release --out autograder.zip --marks after_due_date",
)
def gradescope_command(
    release: Path = RELEASE,
    out: Path = option(
        type=FILE, metavar="ZIP", help="File to write; upload it as the assignment's autograder."
    ),
    grader_source: str = option(
        "",
        metavar="URL@COMMIT|WHEEL",
        help="Where pip gets the grader: a repository's URL at a commit, a wheel's URL with "
        "#sha256=, or the path of a wheel, which goes into the zip.  [default: GRADER_SOURCE, or "
        "where this grader was installed from]",
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
    **values: Any,
) -> None:
    """Build a Gradescope autograder zip from a release.

    The zip contains the release with every answer: upload it to your assignment, and keep it
    private. Students are matched by their e-mail address on the roster, or by an id that is their
    e-mail address or Gradescope number.
    """
    how = RunSettings(**pop_fields(RunSettings, values))
    made = write_autograder(release, out, how, open_bank(banks), grader_source)
    if as_json:
        data = {"zip": str(out), "release": made.release, "bytes": made.bytes}
        print_json({**data, "notes": list(made.notes)})
        return
    print_notes(made.notes)
    click.echo(
        f"Wrote {out} ({made.bytes / 1e6:.1f} MB) for release {made.release}. It contains every "
        "answer: keep it private."
    )


gradescope_command.params[2:2] = field_options(RunSettings)


@subcommand("gradescope-run", "grader classroom gradescope-run /autograder")
def gradescope_run_command(
    root: Path = argument("/autograder", type=EXISTING_FOLDER, envvar="AUTOGRADER_ROOT"),
) -> None:
    """Grade the submission that Gradescope put into ROOT, and write ROOT/results/results.json.

    Exits 0 whatever the score. After an internal error, the result has no score.
    """
    from grader.integrations.gradescope.grading import autograde

    click.echo(autograde(root).sentence)
