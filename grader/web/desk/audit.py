"""The pages of the audit log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock

from grader.gradebook import Gradebook
from grader.gradebook.records import AuditLine
from grader.web.desk.pages import Names

SIZE = 100
"""Entries on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """Some entries of the log, newest first."""

    lines: tuple[AuditLine, ...]
    count: int
    """How many entries contain the words, on all pages."""
    number: int
    """The number of the page, from 1."""

    @property
    def pages(self) -> int:
        """How many pages there are, at least 1."""
        return max(1, -(-self.count // SIZE))


@dataclass(slots=True)
class AuditPages:
    """Reads the log; keeps the entries in which names are masked, as the log only grows."""

    _masked: list[tuple[AuditLine, str]] = field(default_factory=list)
    _mask: object = None
    _lock: Lock = field(default_factory=Lock)

    def read(self, book: Gradebook, names: Names, words: str, number: int) -> AuditPage:
        """Returns page *number* of the entries that contain *words*."""
        number = max(number, 1)
        if not names.secret:
            lines, count = book.audit_page(words, start=(number - 1) * SIZE, size=SIZE)
            return AuditPage(lines=lines, count=count, number=number)
        # The search must not tell which entries are about somebody, so it sees the pseudonyms.
        wanted = words.casefold()
        with self._lock:
            self._update(book, names)
            found = [line for line, text in reversed(self._masked) if wanted in text]
        shown = tuple(found[(number - 1) * SIZE : number * SIZE])
        return AuditPage(lines=shown, count=len(found), number=number)

    def _update(self, book: Gradebook, names: Names) -> None:
        if self._mask is not names.mask:
            self._masked, self._mask = [], names.mask
        last = self._masked[-1][0].number if self._masked else 0
        for line in book.audit(after=last):
            about = str(line.detail.get("student", ""))
            detail = {key: names.hide(str(value), about) for key, value in line.detail.items()}
            who, why = names.hide(line.who), names.hide(line.why, about)
            hidden = replace(line, who=who, why=why, detail=detail)
            text = f"{hidden.what} {hidden.who} {hidden.why} {detail}".casefold()
            self._masked.append((hidden, text))
