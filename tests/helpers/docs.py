"""The pages of the documentation, and what they must describe."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def registered_groups() -> set[str]:
    """The groups of entry points that the package reads."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "grader").rglob("*.py"))
    found = (re.findall(r'Registry\("[^"]+", "(grader\.\w+)"\)', text) for text in sources)
    return {group for groups in found for group in groups}
