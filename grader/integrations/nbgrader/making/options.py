"""Things to choose from, under letters."""

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
    """*things* in an order that tells nothing of the one they came in, and is always the same."""
    return tuple(sorted(things, key=lambda text: hashlib.sha256(text.encode()).digest()))
