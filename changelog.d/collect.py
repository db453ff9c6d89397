"""Moves the fragments of this folder into CHANGELOG.md, under the version that is given."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path


def collect(folder: Path, changelog: Path, version: str, date: str) -> int:
    """Returns the number of fragments. Raises ValueError for one that is not a list item."""
    paths = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    texts = [path.read_text(encoding="utf-8").strip() for path in paths]
    for path, text in zip(paths, texts, strict=True):
        if not text.startswith("- "):
            raise ValueError(f"{path}: start the text with '- '")
    if not texts:
        return 0
    head, rest = changelog.read_text(encoding="utf-8").split("\n", 1)
    entries = "\n".join(texts)
    changelog.write_text(f"{head}\n\n## {version}, {date}\n\n{entries}\n{rest}", encoding="utf-8")
    for path in paths:
        path.unlink()
    return len(paths)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python changelog.d/collect.py VERSION")
    here = Path(__file__).parent
    today = datetime.date.today().isoformat()
    count = collect(here, here.parent / "CHANGELOG.md", sys.argv[1], today)
    sys.stdout.write(f"{count} fragments moved into CHANGELOG.md\n")
