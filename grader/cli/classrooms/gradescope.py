"""`grader classroom gradescope` and `gradescope-run`: Gradescope's autograder."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import bank_option, examples, json_option, print_json, release_argument

if TYPE_CHECKING:
    from grader.integrations.gradescope.results import Tiers


@click.command(
    "gradescope",
    epilog=examples(
        "grader classroom gradescope release --out autograder.zip",
        "grader classroom gradescope release --out autograder.zip --rate 3/60",
        "grader classroom gradescope release --out autograder.zip --tiers marks=after_due_date",
        "grader classroom gradescope release --out autograder.zip --wheels dist --offline",
    ),
)
@release_argument
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="ZIP",
    help="File to write; upload it as the assignment's autograder.",
)
@click.option(
    "--wheels",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Put the wheels in this folder into the zip; pip prefers them to those of the index.",
)
@click.option(
    "--offline",
    is_flag=True,
    help="Also put all other packages into the zip, so that none is downloaded at Gradescope.",
)
@click.option(
    "--python",
    type=click.Choice(("3.11", "3.12", "3.13")),
    default="3.12",
    show_default=True,
    help="Python version that --offline downloads packages for, and that of --interpreter.",
)
@click.option(
    "--interpreter",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Put this Python into the zip, for an image whose Python is too old: an install_only "
    "archive of python-build-standalone.",
)
@click.option(
    "--tiers",
    multiple=True,
    metavar="WHAT=WHEN",
    help="When students see marks, solutions or output: visible, after_due_date, "
    "after_published or hidden. May be repeated. Solutions are omitted unless named.  "
    "[default: marks=visible, output=hidden]",
)
@click.option(
    "--rate",
    metavar="N/MINUTES",
    help="Allow N submissions within MINUTES. Submissions that failed because of an internal error "
    "do not count.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=2, max=40),
    default=10,
    show_default=True,
    metavar="MINUTES",
    help="Time limit of the assignment in Gradescope, in minutes.",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(min=512),
    metavar="MB",
    help="Memory of the container in Gradescope, in MB.  [default: 768, or 1536 with torch]",
)
@click.option(
    "--text",
    "text_format",
    type=click.Choice(("text", "md")),
    default="text",
    show_default=True,
    help="Format of the reasons: plain text or Markdown.",
)
@click.option(
    "--sandbox",
    default="required:user",
    show_default=True,
    metavar="auto|required[:LAYERS]",
    help="Isolation required for student code in Gradescope.",
)
@click.option(
    "--grader-source",
    default="",
    metavar="URL@COMMIT|WHEEL",
    help="Where pip gets the grader: a repository's URL at a commit, or a wheel. Default: this "
    "package's wheel in --wheels, GRADER_SOURCE, or where this grader was installed from.",
)
@bank_option
@json_option
def gradescope_command(
    release: Path,
    out: Path,
    wheels: Path | None,
    offline: bool,
    python: str,
    interpreter: Path | None,
    tiers: tuple[str, ...],
    rate: str | None,
    minutes: float,
    memory_mb: int | None,
    text_format: str,
    sandbox: str,
    grader_source: str,
    banks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Build a Gradescope autograder zip from a release.

    The zip contains the release with every answer: upload it to your assignment, and keep it
    private. Students are matched by their e-mail address on the roster, or by an id that is their
    e-mail address or Gradescope number.
    """
    from grader.bank.folders import Bank
    from grader.integrations.gradescope.image import Autograder
    from grader.integrations.gradescope.making import make_autograder
    from grader.integrations.gradescope.results import TextFormat

    chosen, solutions = _parse_tiers(tiers)
    wished = Autograder(
        title="",
        install="",
        torch=False,
        tiers=chosen,
        solutions=solutions,
        rate=_parse_rate(rate) if rate is not None else None,
        minutes=minutes,
        memory_mb=memory_mb,
        sandbox=sandbox,
        text_format=TextFormat(text_format),
        python=python,
    )
    made = make_autograder(
        release,
        out,
        wished,
        Bank.open(banks),
        wheels=wheels,
        grader_source=grader_source,
        interpreter=interpreter,
        offline=offline,
    )
    if as_json:
        data = {"zip": str(out), "release": made.release, "bytes": made.bytes}
        print_json({**data, "notes": list(made.notes)})
        return
    for note in made.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(
        f"Wrote {out} ({made.bytes / 1e6:.1f} MB) for release {made.release}. It contains every "
        "answer: keep it private."
    )


def _parse_tiers(given: tuple[str, ...]) -> tuple[Tiers, bool]:
    """Returns when students see what, and whether solutions were named."""
    from grader.errors import SetupError
    from grader.integrations.gradescope.results import Tiers, Visibility

    found = Tiers()
    words = [word.strip() for one in given for word in one.split(",")]
    for word in words:
        what, _, when = word.partition("=")
        if what not in Tiers.__dataclass_fields__ or when not in set(Visibility):
            raise SetupError(
                f"--tiers '{word}' is not WHAT=WHEN",
                fix="write marks, solutions or output, then =, then one of "
                f"{', '.join(one.value for one in Visibility)}",
            )
        found = replace(found, **{what: Visibility(when)})
    return found, any(word.startswith("solutions=") for word in words)


def _parse_rate(text: str) -> tuple[int, float]:
    from grader.errors import SetupError

    found = re.fullmatch(r"\s*(\d{1,4})\s*/\s*(\d{1,6}(?:\.\d+)?)\s*", text)
    if found is None or int(found[1]) < 1 or float(found[2]) <= 0:
        raise SetupError(
            f"--rate '{text}' is not a limit", fix="write N/MINUTES, such as 3/60 for 3 per hour"
        )
    return int(found[1]), float(found[2])


@click.command(
    "gradescope-run",
    epilog=examples("grader classroom gradescope-run /autograder"),
)
@click.argument(
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="AUTOGRADER_ROOT",
    default="/autograder",
)
def gradescope_run_command(root: Path) -> None:
    """Grade the submission that Gradescope put into ROOT, and write ROOT/results/results.json.

    Exits 0 whatever the score. After an internal error, the result has no score.
    """
    from grader.integrations.gradescope.grading import autograde

    click.echo(autograde(root).sentence)
