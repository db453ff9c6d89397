"""Searches the files and git history of a folder for the secrets of a release."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SetupError
from grader.model import Paper, Release
from grader.notebook import write
from grader.notebook.render import metadata, render
from grader.registry import suggest
from grader.release.file import load_release
from grader.release.versions import sample_student
from grader.security.leaks.contents import as_text, decode_tokens, is_file, unpack
from grader.security.leaks.evidence import FileEvidence, LeakPosition, LeakSearch, PositionFinder
from grader.security.leaks.folder import FolderScan
from grader.security.leaks.pairs import KeyJudge
from grader.security.leaks.records import LATE, Leak, Piece, SearchBudget, SearchLimits
from grader.security.leaks.secrets import PublicContent, collect_secrets

_STUDENT = re.compile(rb'"student":\s*"([^"\\]{1,200})"')
_DIGITS = re.compile(r"\d+")
_FEW_OWNERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search: findings, and how much was searched."""

    release: str
    findings: tuple[Leak, ...]
    unread: tuple[tuple[str, str], ...]
    """Path and reason for everything that could not be searched."""
    files: int
    objects: int
    """The number of git objects searched."""
    bytes: int
    more: int = 0
    """The number of findings beyond those listed."""

    @property
    def is_late(self) -> bool:
        """Whether something was not searched for lack of time."""
        return any(why == LATE for _, why in self.unread)

    @property
    def is_clean(self) -> bool:
        """Whether everything was searched without findings."""
        return not self.findings and not self.unread


def find_leaks(
    folder: Path,
    source: Path,
    bank: Bank,
    bounds: SearchLimits | None = None,
    students: tuple[str, ...] = (),
    on_piece: Callable[[str], None] = lambda _: None,
) -> SearchResult:
    """Searches *folder* for the secrets of the release at *source*.

    Includes the keys of all its students, or only of *students* if any are named. Calls *on_piece*
    with the path of each file and git object that was searched. Raises SetupError if the folder,
    the release, or a student does not exist.
    """
    if not folder.is_dir():
        raise SetupError(
            "this is not a folder" if folder.exists() else "this folder does not exist",
            where=str(folder),
            fix="name the folder that students would get",
        )
    release = load_release(source)
    for student in students:
        if student not in release.students:
            raise SetupError(
                f"the release has no student '{student}'",
                fix=suggest(student, release.students, "use an id from its roster"),
            )
    return search_folder(folder, prepare_search(release, bank, students), bounds, on_piece)


def prepare_search(release: Release, bank: Bank, students: tuple[str, ...] = ()) -> LeakSearch:
    """Collects the secrets of *release* for searching any number of folders."""
    visible = PublicContent()

    def add_public(mine: Paper) -> None:
        """Adds the texts of a student's clean notebook to what is visible."""
        names = {name for name, _ in mine.named_keys()}
        data = write(render(mine, bank.templates), metadata(mine))
        notebook = Piece(path="", data=data)
        for piece in (notebook, *unpack(notebook, SearchBudget(bounds=SearchLimits()))):
            visible.add(piece.data.decode(), names)

    secrets = collect_secrets(release, students or tuple(release.students), add_public)
    add_public(paper(release, sample_student()))  # which a template may contain
    visible.remove_from(secrets)
    return LeakSearch(
        release=release.id, secrets=secrets, visible=visible, judge=KeyJudge(secrets.keys)
    )


def search_folder(
    folder: Path,
    search: LeakSearch,
    bounds: SearchLimits | None = None,
    on_piece: Callable[[str], None] = lambda _: None,
) -> SearchResult:
    """Searches everything in *folder*; calls *on_piece* with each path that was searched."""
    budget = SearchBudget(bounds=bounds or SearchLimits())
    contents = FolderScan(folder, budget)
    searcher = _Searcher(search, budget)
    leaks: dict[tuple[str, str, str], Leak] = {}
    size = 0
    for piece in contents.pieces():
        size += len(piece.data)
        for leak in searcher.search(piece):
            leaks.setdefault((leak.path, leak.kind, leak.detail), leak)
        if not piece.is_name:
            on_piece(piece.path)
    for key, leak in leaks.items():
        places = (history.place(leak.path) for history in contents.histories)
        leaks[key] = dataclasses.replace(leak, path=next(filter(None, places), leak.path))
    listed = sorted(leaks.values(), key=_place_order)
    most = budget.bounds.findings
    failed = (
        (f"hidden cases of {name}", f"they can't be generated, {why}")
        for name, why in search.secrets.failures.items()
    )
    return SearchResult(
        release=search.release,
        findings=tuple(listed[:most]),
        more=max(0, len(listed) - most),
        unread=(*failed, *budget.unread),
        files=contents.files,
        objects=sum(history.objects for history in contents.histories),
        bytes=size,
    )


def _place_order(leak: Leak) -> tuple[str, int, str, str]:
    """Returns the key by which leaks are listed: "cell 9" comes before "cell 10"."""
    path = _DIGITS.sub(lambda number: number[0].zfill(9), leak.path)
    return path, leak.line or 0, leak.kind, leak.detail


class _Searcher:
    """Searches files, and what is inside them."""

    def __init__(self, search: LeakSearch, budget: SearchBudget):
        self._search = search
        self._budget = budget
        self._everybody = frozenset(search.secrets.students)
        self._clean: set[tuple[bytes, frozenset[str]]] = set()

    def search(self, piece: Piece) -> list[Leak]:
        """Returns the findings in one file or object."""
        scope = self._scope(piece)
        digest = hashlib.blake2b(b"%d" % piece.is_name + piece.data, digest_size=16).digest()
        if (digest, scope) in self._clean:
            return []
        evidence = FileEvidence(search=self._search, scope=scope)
        self._search_piece(piece, evidence)
        findings = list(evidence.findings())
        if not findings:
            self._clean.add((digest, scope))
        return findings

    def _scope(self, piece: Piece) -> frozenset[str]:
        """Returns the students whom a file or its path names; all students if there are none."""
        named = {m.decode("utf-8", "replace") for m in _STUDENT.findall(piece.data[:4_000_000])}
        parts = set(re.split(r"[/\\ >]+", piece.path)) | {Path(piece.path).stem}
        mine = (named | parts) & self._everybody
        return frozenset(mine) if 0 < len(mine) <= _FEW_OWNERS else self._everybody

    def _search_piece(self, piece: Piece, evidence: FileEvidence) -> None:
        """Adds to *evidence* what is in *piece*, and in what is packed or encoded in it."""
        if self._budget.is_late:
            self._budget.skip(piece.path, LATE)
            return
        if not piece.is_name:  # contents first, as their places are more specific
            for inner in unpack(piece, self._budget):
                self._search_piece(inner, evidence)
        evidence.add_bytes(piece.data, lambda _: LeakPosition(piece.path, piece.line, piece.how))
        text = as_text(piece.data)
        place = _position_finder(piece, text)
        evidence.add_text(text, place, is_name=piece.is_name)
        if piece.depth < self._budget.bounds.depth:
            self._search_decoded(piece, text, place, evidence)

    def _search_decoded(
        self, piece: Piece, text: str, place: PositionFinder, evidence: FileEvidence
    ) -> None:
        """Searches the files that hex or base64 in *text* decodes to."""
        for data, at, how in decode_tokens(text):
            if is_file(data):
                where = place(at)
                inner = Piece(
                    path=where.path,
                    data=data,
                    how=(*where.how, how),
                    line=where.line,
                    depth=piece.depth + 1,
                )
                self._search_piece(inner, evidence)


def _position_finder(piece: Piece, text: str) -> PositionFinder:
    """Returns a function that maps a position in the text of *piece* to its place."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(at: int) -> LeakPosition:
        if piece.line or piece.is_name:
            return LeakPosition(piece.path, piece.line, piece.how)
        line = bisect_right(starts, at)
        index = bisect_right(piece.sections, (line, "\uffff")) - 1
        if index < 0:
            return LeakPosition(piece.path, line, piece.how)
        first, name = piece.sections[index]
        return LeakPosition(f"{piece.path} > {name}", line - first + 1, piece.how)

    return place
