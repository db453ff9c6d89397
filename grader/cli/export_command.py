"""`grader export FORMAT`: each format is a module in `grader.cli.exports`."""

from __future__ import annotations

import click

from grader.cli.lazy import LazyGroup
from grader.cli.options import examples

_FORMATS: dict[str, str] = {
    "csv": "Totals with names and sections, for any spreadsheet.",
    "github": "Results for GitHub Classroom's autograding reporter.",
    "classroom50": "Classroom 50's result.json and release text.",
    "gradescope": "Gradescope's results.json.",
    "canvas": "Points in a gradebook that Canvas exported.",
    "worksheet": "Points in Moodle's offline grading worksheet.",
    "moodle": "A set as questions for Moodle's question bank.",
    "qti": "A set as a quiz for Canvas (QTI 1.2).",
    "nbgrader": "A set as an nbgrader assignment with hidden tests.",
    "actions": "Annotations and a summary for a GitHub workflow step.",
}


class _Formats(LazyGroup):
    """The built-in formats, followed by those that other packages register."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The built-in formats, then those of plug-ins by name."""
        from grader.integrations.base import exporters

        return [*_FORMATS, *sorted(set(exporters) - set(_FORMATS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a built-in format or of a plug-in; None if there is none."""
        if cmd_name in _FORMATS:
            return super().get_command(ctx, cmd_name)
        from grader.integrations.base import exporters

        if cmd_name not in exporters:
            return None
        from grader.cli.exports.plugged import plugged

        return plugged(cmd_name)


@click.group(
    "export",
    cls=_Formats,
    sentences=_FORMATS,
    module="grader.cli.exports.{}",
    noun="export format",
    epilog=examples("grader export csv results", "grader export canvas results --help"),
)
def command() -> None:
    """Write results or an exam in the format of another system."""
