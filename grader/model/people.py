"""Maps a platform's user numbers to student ids."""

from __future__ import annotations

from collections.abc import Mapping


class UserNumbers(dict[str, str]):
    """Student ids by user number.

    *platform* is the platform of the table, such as `Canvas`, or empty for a table written by hand;
    *file* is the file that it was read from.
    """

    def __init__(self, students: Mapping[str, str], *, platform: str, file: str):
        super().__init__(students)
        self.platform = platform
        self.file = file
