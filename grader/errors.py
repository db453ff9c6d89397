"""What went wrong, where, and what to do: the errors a person can meet."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from grader.words import counted


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file a person wrote; line and column count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


def shown(text: str, most: int = 1_000) -> str:
    """*text* as one line for a terminal: cut to length, and nothing in it that moves the cursor.

    >>> shown("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}…{text[-most // 3 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """*text* with every character that can't be seen written out; line breaks and tabs stay.

    That is control characters, halves of characters, and what turns the direction of writing
    around: with those, a text may read as another one than it is.

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
    """An error with a sentence a person can act on; anything else is a bug of ours.

    *what* is one line in lower case without a full stop; *fix* says what to do next.
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
        return f"{shown(head)}\n  fix: {shown(self.fix)}" if self.fix else shown(head)


def _rebuild(
    kind: type[GraderError], what: str, where: Location | str | None, fix: str | None
) -> GraderError:
    return kind(what, where=where, fix=fix)


class SpecError(GraderError):
    """For the author of a problem, a set or a roster."""


class SubmissionError(GraderError):
    """For the student: a submission that can't be read. Holds no key and no path of ours."""


class SetupError(GraderError):
    """For whoever runs the tool: something is missing on this machine or on the command line."""


class PackageError(SetupError):
    """For code that this machine can't run or judge: a package is missing, and named."""


class SpecErrors(SpecError):  # noqa: N818 - several of them
    """Everything that is wrong with one file, or with several, at once."""

    def __init__(self, errors: tuple[SpecError, ...]):
        self.errors = errors
        super().__init__(counted(len(errors), "error"))

    def __reduce__(self) -> tuple[object, ...]:
        return SpecErrors, (self.errors,)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)
