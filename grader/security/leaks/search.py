"""Searches the files and git history of a folder for the secrets of a release."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SetupError
from grader.model import Paper, Release
from grader.notebook import write
from grader.notebook.render import metadata, render
from grader.release.file import load_release
from grader.release.versions import sample_student
from grader.security.leaks.byte_signatures import Needles
from grader.security.leaks.digests import Digests
from grader.security.leaks.evidence import Evidence, Place, Search
from grader.security.leaks.named import Judge
from grader.security.leaks.records import LATE, Bounds, Budget, Finding, Piece
from grader.security.leaks.searchable_files import Surface
from grader.security.leaks.secrets import wanted
from grader.security.leaks.unpacking import DAMAGED, texts, unpacked
from grader.security.leaks.views import View, views
from grader.security.leaks.visible import Visible

_STUDENT = re.compile(rb'"student":\s*"([^"\\]{1,200})"')
_FEW_OWNERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The result of a search: findings, and how much was searched."""

    release: str
    findings: tuple[Finding, ...]
    unread: tuple[tuple[str, str], ...]
    """Path and reason for everything that could not be searched."""
    files: int
    objects: int
    """The number of git objects searched."""
    bytes: int
    more: int = 0
    """The number of findings beyond those listed."""

    @property
    def late(self) -> bool:
        """Whether something was not searched for lack of time."""
        return any(why == LATE for _, why in self.unread)

    @property
    def clean(self) -> bool:
        """Whether everything was searched without findings."""
        return not self.findings and not self.unread


def find_leaks(
    folder: Path,
    source: Path,
    bank: Bank,
    bounds: Bounds | None = None,
    students: tuple[str, ...] = (),
    done: Callable[[str], None] = lambda _: None,
) -> Searched:
    """Searches *folder* for the secrets of the release at *source*.

    Includes the keys of all its students, or only of *students* if any are named. Calls *done* with
    the path of each file and git object that was searched.
    """
    if not folder.is_dir():
        if folder.exists():
            raise SetupError(
                "this is not a folder",
                where=str(folder),
                fix="name the folder that students would get",
            )
        raise SetupError(
            "this folder does not exist",
            where=str(folder),
            fix="name the folder that students would get",
        )
    release = load_release(source)
    for student in students:
        if student not in release.students:
            raise SetupError(
                f"the release has no student '{student}'", fix="use an id from its roster"
            )
    return search_folder(folder, prepare(release, bank, students), bounds, done)


def prepare(release: Release, bank: Bank, students: tuple[str, ...] = ()) -> Search:
    """Collects the secrets of *release* for searching any number of folders."""
    visible = Visible()

    def show(mine: Paper) -> None:
        names = {name for name, _ in mine.named_keys()}
        visible.notebook(write(render(mine, bank.templates), metadata(mine)), names)

    found = wanted(release, students or tuple(release.students), show)
    show(paper(release, sample_student()))  # which a template may contain
    visible.excuse(found)
    return Search(
        release=release.id,
        wanted=found,
        visible=visible,
        judge=Judge(found),
        digests=Digests(found, (release.id, release.exam.id)),
        needles=Needles(found.bytes),
    )


def search_folder(
    folder: Path,
    search: Search,
    bounds: Bounds | None = None,
    done: Callable[[str], None] = lambda _: None,
) -> Searched:
    """Searches everything in *folder*; calls *done* with each path that was searched."""
    return _Searcher(search, folder, bounds or Bounds()).run(done)


class _Searcher:
    """The search of one folder."""

    def __init__(self, search: Search, folder: Path, bounds: Bounds):
        self._search = search
        self._bounds = bounds
        self._budget = Budget(bounds=bounds)
        self._surface = Surface(folder, self._budget)
        self._folder = folder
        self._everybody = frozenset(search.wanted.students)
        self._here = self._owners()
        self._clean: set[tuple[bytes, frozenset[str]]] = set()

    def run(self, done: Callable[[str], None]) -> Searched:
        """Searches the whole folder."""
        found: dict[tuple[str, str, str], Finding] = {}
        for piece in self._surface.pieces():
            self._budget.bytes += len(piece.data)
            for one in self._of(piece):
                found.setdefault((one.path, one.kind, one.detail), one)
            if not piece.is_name:
                done(piece.path)
        listed = sorted(map(self._placed, found.values()), key=_order)
        return Searched(
            release=self._search.release,
            findings=tuple(listed[: self._bounds.findings]),
            more=max(0, len(listed) - self._bounds.findings),
            unread=(*self._unmade(), *self._budget.unread),
            files=self._surface.files,
            objects=sum(history.objects for history in self._surface.histories),
            bytes=self._budget.bytes,
        )

    def _unmade(self) -> Iterator[tuple[str, str]]:
        for name, why in self._search.wanted.unmade.items():
            yield f"hidden cases of {name}", f"they can't be generated, {why}"

    def _of(self, piece: Piece) -> list[Finding]:
        """The findings in one file or object."""
        scope = self._scope(piece)
        digest = hashlib.blake2b(b"%d" % piece.is_name + piece.data, digest_size=16).digest()
        same = (digest, scope)
        if same in self._clean:
            return []
        evidence = Evidence(search=self._search, scope=scope)
        self._look(piece, evidence)
        found = list(evidence.findings())
        if not found:
            self._clean.add(same)
        return found

    def _look(self, piece: Piece, evidence: Evidence) -> None:
        if self._budget.late:
            self._budget.skip(piece.path, LATE)
            return
        if not piece.is_name:  # contents first, as their places are more specific
            for inner in unpacked(piece, self._budget):
                self._look(inner, evidence)
        evidence.bytes(piece.data, lambda _: Place(piece.path, piece.line, piece.how))
        for text, encoding in texts(piece.data):
            self._text(piece, text, encoding, evidence)

    def _text(self, piece: Piece, text: str, encoding: str, evidence: Evidence) -> None:
        deep = len(text) <= self._bounds.text_characters
        if not deep:
            self._budget.skip(piece.path, "it is too long to undo its encodings")
        lines = _lines(text)
        for view in views(text, deep=deep):
            how = (*piece.how, *filter(None, (encoding,)), *view.how)
            place = _placing(piece, lines, how, view)
            evidence.text(view, place, is_name=piece.is_name)
            if view.how:
                evidence.bytes(view.text.encode("latin-1", "replace"), place)
            self._blobs(piece, view, lines, evidence)

    def _blobs(self, piece: Piece, view: View, lines: list[int], evidence: Evidence) -> None:
        # Nearly always, none of them contains anything.
        together = b"\0".join(data for data, _, _ in view.blobs)
        if any(True for _ in self._search.needles.find(together)):
            for data, at, encodings in view.blobs:
                where = _placing(piece, lines, (*piece.how, *encodings))(at)
                evidence.bytes(data, lambda _, where=where: where)  # type: ignore[misc]
        for data, at, encodings in view.blobs:
            if not _is_file(data, encodings[-1]) or piece.depth >= self._bounds.depth:
                continue
            where = _placing(piece, lines, (*piece.how, *encodings))(at)
            inner = Piece(
                path=where.path,
                data=data,
                how=where.how,
                line=where.line,
                depth=piece.depth + 1,
            )
            known, self._budget.unread = self._budget.unread, []
            self._look(inner, evidence)
            # Bytes that only look like an archive may fail to unpack, which does not matter.
            told = [one for one in self._budget.unread if not one[1].startswith(DAMAGED)]
            self._budget.unread = [*known, *told]

    def _scope(self, piece: Piece) -> frozenset[str]:
        """The students who would get this file: those it names, or those with notebooks here."""
        named = {m.decode("utf-8", "replace") for m in _STUDENT.findall(piece.data[:4_000_000])}
        parts = set(re.split(r"[/\\ >]+", piece.path)) | {Path(piece.path).stem}
        mine = (named | parts) & self._everybody
        if mine and len(mine) <= _FEW_OWNERS:
            return frozenset(mine)
        return self._here

    def _owners(self) -> frozenset[str]:
        found: set[str] = set()
        for path in sorted(self._folder.glob("*.ipynb"))[:50]:
            if path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                text = file.read(4_000_000)
            found |= {m.decode("utf-8", "replace") for m in _STUDENT.findall(text)}
        found &= self._everybody
        return frozenset(found) if 0 < len(found) <= _FEW_OWNERS else self._everybody

    def _placed(self, one: Finding) -> Finding:
        for history in self._surface.histories:
            if history.knows(one.path):
                path = history.place(one.path)
                return Finding(
                    path=path, line=one.line, kind=one.kind, detail=one.detail, how=one.how
                )
        return one


_PACKED = {b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"PK", b"\xfd7"}


def _is_file(data: bytes, encoding: str) -> bool:
    """Whether decoded bytes may be a file, and not just a word that happens to decode."""
    if encoding.endswith("middle"):
        return False
    return len(data) >= 64 or data[:2] in _PACKED or data[:3] == b"BZh" or data[:1] == b"\x80"


def _order(one: Finding) -> tuple[str, int, str, str]:
    return one.path, one.line or 0, one.kind, one.detail


def _lines(text: str) -> list[int]:
    """The position at which each line begins."""
    starts = [0]
    starts.extend(found.end() for found in re.finditer("\n", text))
    return starts


def _placing(
    piece: Piece, lines: list[int], how: tuple[str, ...], view: View | None = None
) -> Callable[[int], Place]:
    """A function that maps a position in *view*, or in the text of *piece*, to its place."""

    def place(at: int) -> Place:
        if piece.line or piece.is_name:
            return Place(piece.path, piece.line, how)
        line = bisect_right(lines, max(0, view.origin(at) if view else at))
        index = bisect_right(piece.sections, (line, "\uffff")) - 1
        if index < 0:
            return Place(piece.path, line, how)
        first, name = piece.sections[index]
        return Place(f"{piece.path} > {name}", line - first + 1, how)

    return place
