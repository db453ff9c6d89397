"""Gathers the statistics of a graded class into files beside the specs of its problems."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from grader import __version__
from grader.bank.folders import Bank
from grader.bank.index import own_bank
from grader.bank.statistics import (
    FEWEST,
    PartStatistics,
    TermStatistics,
    add_term,
    spec_name,
    statistics_path,
)
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.sources import require_release, rows_of, source_of
from grader.model import Release
from grader.release.papers import papers_of
from grader.report import summarize
from grader.report.part_lines import PartLine

NAME = "statistics_name"
"""The gradebook's key for the random name of its results in files of statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsFiles:
    """The files that were written, and the parts that too few students answered."""

    files: tuple[Path, ...]
    too_few: tuple[str, ...]


def gather_statistics(out: Path, bank: Bank, *, term: str = "") -> StatisticsFiles:
    """Adds the statistics of the results in *out* to the files beside the specs in *bank*.

    *term* names the statistics; if it is empty, the title of the set does. Statistics that the same
    results added before are replaced. Raises SetupError if a file can't be written, and SpecErrors
    if one can't be read.
    """
    with Gradebook.open(out) as book:
        require_release(book)
        release = papers_of(book).counts
        graded = source_of(book)
        summary = summarize(
            rows_of(book, graded),
            exam=graded.exam,
            title=graded.title,
            release=graded.release,
            engine=__version__,
            published=False,
        )
        name = book.setting(NAME)
        if not isinstance(name, str):
            name = secrets.token_hex(4)
            book.set_setting(NAME, name, why="for statistics of problems")
    parts: dict[str, dict[str, PartStatistics]] = {}
    too_few = []
    for line in summary.parts:
        if line.settled_count < FEWEST or line.mean_share is None or line.share_correct is None:
            too_few.append(f"{line.problem}/{line.part}")
        else:
            parts.setdefault(line.problem, {})[line.part] = _part_statistics(line)
    folders = {problem: _folder(bank, release, problem) for problem in parts}
    files = []
    for problem, part_statistics in parts.items():
        path = statistics_path(folders[problem], problem)
        term_statistics = TermStatistics(
            spec=spec_name(release.digests[problem]),
            term=term or graded.title,
            results=name,
            parts=part_statistics,
        )
        add_term(path, term_statistics)
        files.append(path)
    return StatisticsFiles(files=tuple(files), too_few=tuple(too_few))


def _part_statistics(line: PartLine) -> PartStatistics:
    """Returns the rounded shares of *line*, without mistakes that few students made."""
    return PartStatistics(
        students=line.settled_count,
        mean=round(line.mean_share or 0.0, 3),
        solved=round(line.share_correct or 0.0, 3),
        discrimination=None if line.discrimination is None else round(line.discrimination, 3),
        blank=round(line.blank, 3),
        mistakes={
            mistake.id: round(mistake.share, 3)
            for mistake in line.mistakes
            if mistake.is_declared and mistake.students >= FEWEST
        },
    )


def _folder(bank: Bank, release: Release, problem: str) -> Path:
    """Returns the folder of the problem's spec or, for a problem of the installed package, the
    folder that it would have in the first named bank."""
    family = release.problems[problem].family
    if problem in bank.paths:
        folder = bank.path(problem).parent
        if own_bank().name != "_bank" or own_bank() not in folder.resolve().parents:
            return folder
    if not bank.named_folders:
        raise SetupError(
            f"there is no place for the statistics of '{problem}'",
            fix="name a bank of yours with --bank DIR or GRADER_BANK",
        )
    return bank.named_folders[0] / "problems" / family
