"""Errors for people: what went wrong, where, and what to do about it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file; line and column count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


def one_line(text: str, most: int = 1_000) -> str:
    """Returns *text* as one safe line for a terminal: control characters escaped, cut in the middle
    if it is longer than *most* characters.

    >>> one_line("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}…{text[-most // 3 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """Returns *text* with invisible characters escaped, except line breaks and tabs.

    These are control characters, lone surrogates, and bidirectional controls, which can make a text
    look like a different one.

    >>> visible("GB \\u202e82")
    'GB \\\\u202e82'
    """
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_hidden(c) else c for c in text)


def _is_hidden(character: str) -> bool:
    if character.isprintable() or character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


class GraderError(Exception):
    """An error that a person can act on. Any other exception is a bug in the grader.

    *what* is one line in lower case without a period; *fix* says what to do next.
    """

    def __init__(self, what: str, *, where: Location | str | None = None, fix: str | None = None):
        super().__init__(what, where, fix)
        self.what = what
        self.where = where
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments would be lost on the way out of a worker process.
        return _rebuild, (type(self), self.what, self.where, self.fix)

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where is not None else self.what
        return f"{one_line(head)}\n  fix: {one_line(self.fix)}" if self.fix else one_line(head)


def _rebuild(
    kind: type[GraderError], what: str, where: Location | str | None, fix: str | None
) -> GraderError:
    return kind(what, where=where, fix=fix)


class SpecError(GraderError):
    """An error for the author of a problem, a set, or a roster."""

    @property
    def errors(self) -> tuple[SpecError, ...]:
        """This error alone, or all that it stands for."""
        return (self,)


class SubmissionError(GraderError):
    """An error for the student: a submission can't be read. It contains no key and no path of the
    grading machine."""


class SetupError(GraderError):
    """An error for the user of the tool: something is missing on this machine or on the command
    line."""


class PackageError(SetupError):
    """A package that is needed to run or check code is not installed; the message names it."""


class SpecErrors(SpecError):  # noqa: N818 - plural
    """All errors in one or more files."""

    def __init__(self, errors: tuple[SpecError, ...]):
        self._errors = errors
        super().__init__(f"{len(errors)} error{'' if len(errors) == 1 else 's'}")

    @property
    def errors(self) -> tuple[SpecError, ...]:
        """The individual errors, in the order in which they were found."""
        return self._errors

    def __reduce__(self) -> tuple[object, ...]:
        return SpecErrors, (self.errors,)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)
