"""What is wrong with an expression or a text, in one line, and where in it."""

from __future__ import annotations


class ExpressionError(ValueError):
    """An expression that can't be read, or has no value for these numbers."""

    def __init__(self, what: str, column: int | None = None, fix: str | None = None):
        super().__init__(what, column, fix)
        self.what = what
        self.column = column
        """Counting from 1; None when no place in the expression is to blame."""
        self.fix = fix

    def __str__(self) -> str:
        at = f" (column {self.column})" if self.column is not None else ""
        return f"{self.what}{at}; {self.fix}" if self.fix else f"{self.what}{at}"


class TextError(ValueError):
    """A text with placeholders that can't be read or filled in."""

    def __init__(self, what: str, line: int | None = None, fix: str | None = None):
        super().__init__(what, line, fix)
        self.what = what
        self.line = line
        """Counting from 1."""
        self.fix = fix

    def __str__(self) -> str:
        at = f" (line {self.line})" if self.line is not None else ""
        return f"{self.what}{at}; {self.fix}" if self.fix else f"{self.what}{at}"


def shortened(text: str, length: int = 24) -> str:
    """*text* fit to be quoted in one line."""
    safe = "".join(c if c.isprintable() else "?" for c in text[:length])
    return f"{safe}..." if len(text) > length else safe
