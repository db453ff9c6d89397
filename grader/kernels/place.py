"""The private folder of one kernel: made before it starts, removed when it has ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from grader.sandbox import Place

# A socket's path may have 104 characters on macOS and 108 on Linux, with its name in `wire`.
_LONGEST = 80


def make() -> Place:
    """A new folder that nobody else may enter, with its parts."""
    root = tempfile.mkdtemp(prefix="grader-")
    if len(root) > _LONGEST:
        Path(root).rmdir()
        root = tempfile.mkdtemp(prefix="grader-", dir="/tmp")  # mkdtemp is private
    place = Place(Path(root))
    for folder in (place.home, place.work, place.temporary, place.wire):
        folder.mkdir(mode=0o700)
    return place


def remove(place: Place) -> None:
    """Removes the folder, whatever permissions were taken away inside."""
    for folder, names, _ in os.walk(place.root):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(place.root, ignore_errors=True)


def hidden(text: str, place: Place) -> str:
    """*text* without the folder's name, which is ours, differs each time and helps nobody."""
    work = str(place.work)
    return text.replace(work + os.sep, "").replace(work, ".").replace(str(place.root), "~")
