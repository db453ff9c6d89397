"""Reads the marks out of an nbgrader course; runs in nbgrader's environment, and is not timed.

python nbgrader_marks.py GRADEBOOK.db OUT.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from nbgrader.api import Gradebook


def main() -> None:
    marks = {}
    with Gradebook(f"sqlite:///{Path(sys.argv[1]).resolve()}") as book:
        for submission in book.assignment_submissions("exam"):
            grades = (grade for notebook in submission.notebooks for grade in notebook.grades)
            marks[submission.student.id] = {
                g.cell.name.removeprefix("test-").replace("-", "_"): g.score for g in grades
            }
    Path(sys.argv[2]).write_text(json.dumps({"marks": marks}))


if __name__ == "__main__":
    main()
