"""Lists of options with letters."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence

from grader.model.item import Choosable

LETTERS = string.ascii_uppercase


def listed(choices: Sequence[Choosable]) -> str:
    """The options as a Markdown list."""
    lines = (
        f"- **{letter}.** " + choice.text.replace("\n", "\n  ")
        for letter, choice in zip(LETTERS, choices, strict=False)
    )
    return "\n".join(lines)


def shuffled(things: Sequence[str]) -> tuple[str, ...]:
    """*things* in a fixed order that is independent of their original order."""
    return tuple(sorted(things, key=lambda text: hashlib.sha256(text.encode()).digest()))
