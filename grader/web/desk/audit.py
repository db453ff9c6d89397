"""The pages of the audit log, all of it or what a filter leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from threading import Lock
from urllib.parse import urlencode

from grader.gradebook import Gradebook
from grader.gradebook.audit_log import AND, ENGINE, AuditLine
from grader.grading.adjustments import ADJUSTMENTS
from grader.model.desk import PartId
from grader.web.desk.pages import Names

SIZE = 100
"""Entries on a page."""
_LONGEST = 200
"""Maximum characters of a field of the filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries of the audit log to show; an empty field leaves out none."""

    q: str = ""
    """Words that the entry contains."""
    people: str = ""
    """If not empty, leaves out what the grader did by itself."""
    person: str = ""
    student: str = ""
    """The student that it is about, as in addresses."""
    part: str = ""
    """The part that it is about, such as "kv-cache/bytes"."""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> AuditFilter:
        """Returns the filter in the query of an address; long values are cut."""
        return cls(**{name: query.get(name, "").strip()[:_LONGEST] for name in asdict(cls())})

    def page(self, number: int) -> str:
        """Returns the address of page *number* with this filter."""
        filled = {name: value for name, value in asdict(self).items() if value}
        return f"/audit?{urlencode({**filled, 'page': number})}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """Some entries of the log, newest first."""

    lines: tuple[AuditLine, ...]
    count: int
    """How many entries the filter leaves, on all pages."""
    number: int
    chosen_filter: AuditFilter
    people: tuple[str, ...]
    """Everybody but the students who did something."""
    parts: tuple[str, ...]

    @property
    def pages(self) -> int:
        """How many pages there are, at least 1."""
        return max(1, -(-self.count // SIZE))


@dataclass(frozen=True, slots=True)
class _MaskedEntry:
    """An entry, and what somebody who may not see names reads of it."""

    line: AuditLine
    masked_line: AuditLine
    text: str


@dataclass(slots=True)
class AuditPages:
    """Reads the log; keeps the entries in which names are masked, as the log only grows."""

    _masked_entries: list[_MaskedEntry] = field(default_factory=list)
    _mask: object = None
    _lock: Lock = field(default_factory=Lock)

    def read(self, book: Gradebook, names: Names, wanted: AuditFilter, number: int) -> AuditPage:
        """Returns page *number* of the entries that *wanted* leaves. Raises SetupError for an
        unknown student."""
        number = max(number, 1)
        start = (number - 1) * SIZE
        parts = tuple(str(one.part) for one in book.answers.counts())
        if names.secret or wanted.student or wanted.part:
            matches = list(self._filter(book, names, wanted))
            lines, count = tuple(matches[start : start + SIZE]), len(matches)
        else:
            lines, count = book.audit_log.page(
                wanted.q, people=bool(wanted.people), person=wanted.person, start=start, size=SIZE
            )
        people = book.audit_log.people() - names.students.keys()
        return AuditPage(
            lines=lines, count=count, number=number, chosen_filter=wanted,
            people=tuple(sorted(names.hide(one) for one in people)), parts=parts,
        )  # fmt: skip

    def _filter(self, book: Gradebook, names: Names, wanted: AuditFilter) -> Iterator[AuditLine]:
        """Yields the entries that *wanted* leaves, newest first and with names masked."""
        is_covered = _make_coverage_check(book, names, wanted)
        words = wanted.q.casefold()
        for entry in reversed(self._read_entries(book, names)):
            if (
                not (wanted.people and entry.line.who == ENGINE)
                and (not wanted.person or wanted.person in entry.masked_line.who.split(AND))
                and words in entry.text
                and is_covered(entry.line)
            ):
                yield entry.masked_line

    def _read_entries(self, book: Gradebook, names: Names) -> list[_MaskedEntry]:
        """Returns all entries, oldest first, each with the text that the search sees."""
        if not names.secret:
            return [_MaskedEntry(line, line, _searched_text(line)) for line in book.audit()]
        # The search must not tell which entries are about somebody, so it sees the pseudonyms.
        with self._lock:
            if self._mask is not names.mask:
                self._masked_entries, self._mask = [], names.mask
            last = self._masked_entries[-1].line.number if self._masked_entries else 0
            for line in book.audit(after=last):
                about = str(line.detail.get("student", ""))
                detail = {key: names.hide(str(value), about) for key, value in line.detail.items()}
                who, why = names.hide(line.who), names.hide(line.why, about)
                hidden = replace(line, who=who, why=why, detail=detail)
                self._masked_entries.append(_MaskedEntry(line, hidden, _searched_text(hidden)))
            return list(self._masked_entries)


def _searched_text(line: AuditLine) -> str:
    return f"{line.what} {line.who} {line.why} {line.detail}".casefold()


def _make_coverage_check(
    book: Gradebook, names: Names, wanted: AuditFilter
) -> Callable[[AuditLine], bool]:
    """Returns a function that says whether an entry is about the student and part of *wanted*."""
    student = names.find(wanted.student) if wanted.student else ""
    # With pseudonyms, no files: they are executed in the order of the class list.
    submissions = book.submissions(student) if student and not names.secret else ()
    files = {submission.sha256 for submission in submissions}
    problem, slash, name = wanted.part.partition("/")
    part = PartId(problem, name) if slash else None
    answers = {(one.student, one.name) for one in book.answers.of_part(part)} if part else set()

    def is_covered(line: AuditLine) -> bool:
        detail = line.detail
        is_of_student = not student or (
            student in (line.who, detail.get("student")) or detail.get("submission_sha256") in files
        )
        if part is None or not is_of_student:
            return is_of_student
        place = detail.get("before") if "item" in detail else detail
        if (
            isinstance(place, dict)
            and PartId(place.get("problem", ""), place.get("part", "")) == part
        ):
            return True
        value = detail.get("value")
        if detail.get("name") == ADJUSTMENTS and isinstance(value, dict):
            return str(part) in value["dropped"]
        return (detail.get("student"), detail.get("name")) in answers

    return is_covered
