"""Files in which students request a regrade, as the form on a feedback page makes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

WHY = "Please look at <script>alert(1)</script> again: I named the lock."


def form_data(results: Path, student: str) -> dict[str, str]:
    """What the form on the student's page puts into every file."""
    page = (results / "feedback" / f"{student}.html").read_text()
    found = dict(re.findall(r'data-(set|student|token)="([^"]*)"', page))
    assert set(found) == {"set", "student", "token"}
    return found


def request_file(results: Path, who: str, part: str, text: str = WHY, **changes: object) -> Path:
    """Writes the file that the student hands in."""
    data = {
        "format": "grader-regrade-request/1",
        **form_data(results, who),
        "requests": [{"part": part, "text": text}],
    }
    path = results.parent / f"regrade-request-{who}.json"
    path.write_text(json.dumps({**data, **changes}, indent=1))
    return path
