"""A student's feedback as files for their repository."""

from __future__ import annotations

from pathlib import Path

from grader.errors import SetupError
from grader.integrations.github.actions import summary_of
from grader.model.exported import Result
from grader.report import file_name


def feedback_files(result: Result, results: Path) -> dict[str, bytes]:
    """README.md, which GitHub shows, and the page that `grader report` wrote in *results*.

    Raises SetupError if the page does not exist.
    """
    student = result.feedback.student.id
    page = results / "feedback" / file_name(student, ".html")
    try:
        html = page.read_bytes()
    except OSError:
        raise SetupError(
            f"there is no feedback page for '{student}'",
            where=str(page),
            fix="run `grader report` on these results first",
        ) from None
    text = summary_of(result)
    text += "\nThe full feedback is in `feedback.html`: download it and open it in a browser.\n"
    return {"README.md": text.encode("utf-8", "replace"), "feedback.html": html}
