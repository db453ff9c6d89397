"""Errors in expressions and texts: one line that says what is wrong and where."""

from __future__ import annotations


class ExpressionError(ValueError):
    """An expression can't be parsed or has no value for these numbers."""

    def __init__(self, what: str, column: int | None = None, fix: str | None = None):
        super().__init__(what, column, fix)
        self.what = what
        self.column = column
        """Counted from 1; None if no position is known."""
        self.fix = fix

    def __str__(self) -> str:
        at = f" (column {self.column})" if self.column is not None else ""
        return f"{self.what}{at}; {self.fix}" if self.fix else f"{self.what}{at}"


class TextError(ValueError):
    """A text with placeholders can't be parsed or filled in."""

    def __init__(self, what: str, line: int | None = None, fix: str | None = None):
        super().__init__(what, line, fix)
        self.what = what
        self.line = line
        """Counted from 1."""
        self.fix = fix

    def __str__(self) -> str:
        at = f" (line {self.line})" if self.line is not None else ""
        return f"{self.what}{at}; {self.fix}" if self.fix else f"{self.what}{at}"
