"""Makes students' text safe for logs, for Markdown on GitHub, and for JSON readers."""

from __future__ import annotations

import re

from grader.errors import visible

LONGEST = 400
"""Maximum number of characters of an answer or a reason in a table or a log."""

_CUT = "…"
# ZERO WIDTH SPACE: the text looks the same but is no longer a command, a mention, or an address.
_BREAK = "\u200b"
# Punctuation that has a meaning in Markdown, its extensions, or HTML, anywhere in a line.
_MARKDOWN = re.compile(r"[&<>|`*_~\[\]$\\:]")
_ISSUE = re.compile(r"\b(GH)(?=-\d)", re.IGNORECASE)
"""GH-26 refers to an issue, like #26."""
_STARTS = re.compile(r"^([#+=-]|\d+(?=[.)](\s|$)))")


def escape_controls(text: str) -> str:
    """Returns *text* with control characters escaped; line breaks and tabs are kept."""
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def to_one_line(text: str, most: int = LONGEST) -> str:
    """Returns *text* as one line of at most *most* characters, without control characters.

    >>> to_one_line("28 GB\\r\\n::error::no")
    '28 GB ::error::no'
    """
    flat = " ".join(escape_controls(text).split())
    return flat if len(flat) <= most else flat[: most - 1] + _CUT


def neutralize(text: str) -> str:
    """Returns *text* without anything that a runner of GitHub Actions takes for a command.

    Indenting does not help: the runner trims a line before it looks for `::`, and finds the older
    `##[` anywhere in it.

    >>> neutralize(" ::set-env name=A::b").isascii(), neutralize("##[error]no").isascii()
    (False, False)
    """
    # Every pair of colons, because another program may print text in front of it.
    broken = re.sub(":(?=:)", f":{_BREAK}", escape_controls(text))
    return broken.replace("##[", f"##{_BREAK}[")


def neutralize_line(text: str, most: int = LONGEST) -> str:
    """Returns *text* as one line that GitHub Actions does not take for a command."""
    return neutralize(to_one_line(text, most))


def escape_markdown(text: str, most: int = LONGEST) -> str:
    """Returns *text* as literal words for a paragraph or a table cell of GitHub's Markdown.

    It contains no markup, HTML, formula, mention, reference to an issue, or address.

    >>> escape_markdown("<b>28|GB</b>")
    '&#60;b&#62;28&#124;GB&#60;/b&#62;'
    """
    flat = to_one_line(text, most)
    flat = flat.replace("@", f"@{_BREAK}").replace("#", f"#{_BREAK}")
    flat = flat.replace("://", f":{_BREAK}//").replace("www.", f"www{_BREAK}.")
    flat = _ISSUE.sub(f"\\1{_BREAK}", flat)
    flat = _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", flat)
    return _STARTS.sub(_escape_start, flat)


def _escape_start(match: re.Match[str]) -> str:
    mark = match[0]
    return mark + _BREAK if mark.isdigit() else f"&#{ord(mark)};"
