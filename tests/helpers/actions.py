"""Reads the workflow commands of GitHub Actions as a runner does."""

from __future__ import annotations

from tests.helpers.export import (
    is_command,
    lines_of,
)


def read_commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """What a runner reads: the command, its properties, and its message."""
    found = []
    for line in lines_of(text):
        trimmed = line.lstrip()
        if not trimmed.startswith("::"):
            assert not is_command(line)
            continue
        head, _, message = trimmed[2:].partition("::")
        name, _, rest = head.partition(" ")
        pairs = [p.split("=", 1) for p in rest.split(",") if p]
        properties = {key: _unescaped(value, extra=True) for key, value in pairs}
        found.append((name, properties, _unescaped(message, extra=False)))
    return found


def _unescaped(text: str, *, extra: bool) -> str:
    codes = [("%0D", "\r"), ("%0A", "\n"), *([("%3A", ":"), ("%2C", ",")] if extra else [])]
    for code, character in (*codes, ("%25", "%")):
        text = text.replace(code, character)
    return text
