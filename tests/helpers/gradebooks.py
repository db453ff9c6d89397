"""Gradebooks of Canvas and Moodle, filled in from bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from grader.integrations.lms.gradebooks.canvas import Canvas
from grader.integrations.lms.gradebooks.worksheet import Worksheet
from grader.model.exported import ClassResults, Exported


def canvas_gradebook(
    results: ClassResults, data: bytes, file: str, *, column: str, **options: bool
) -> Exported:
    """Exports to the gradebook *data*, which is called *file*."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_bytes(data)
        return Canvas(gradebook=path, column=column, **options).export(results)


def moodle_worksheet(results: ClassResults, data: bytes, file: str, **options: bool) -> Exported:
    """Exports to the worksheet *data*, which is called *file*."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_bytes(data)
        return Worksheet(gradebook=path, **options).export(results)
