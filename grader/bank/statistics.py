"""Statistics of problems, gathered over terms, in a file beside each spec.

`problems/FAMILY/ID.stats.yaml` has an entry for each term. An entry counts only for the spec that
its students answered: after a change of the problem, a new one starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path

import yaml

from grader.bank.index import STATISTICS, BankIndex
from grader.bank.shape import shape
from grader.bank.yaml12 import read_yaml
from grader.errors import SpecErrors
from grader.files import write_atomic
from grader.model.grouping import group_by_key
from grader.model.spec import Strict

FEWEST = 5
"""The fewest students of whom anything is written."""
_DIGEST = 16
_HEAD = """\
# Written by `grader report --collect`, without data of single students.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatistics(Strict):
    """How students did on one part."""

    students: int
    mean: float
    """The mean share of the points."""
    solved: float
    """The share of students with a correct answer."""
    discrimination: float | None = None
    """The correlation with the rest of the paper."""
    blank: float = 0.0
    """The share of students without an answer."""
    mistakes: Mapping[str, float] = field(default_factory=dict)
    """The shares of students with each declared mistake that at least `FEWEST` of them made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics(Strict):
    """How the students of one term did on a problem."""

    spec: str
    """The start of the digest of the spec that they answered."""
    term: str
    """The name of the set or the term."""
    results: str
    """A random name of the results, so that they are never counted twice."""
    parts: Mapping[str, PartStatistics]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsFile(Strict):
    """The contents of the file of a problem."""

    terms: tuple[TermStatistics, ...]


def statistics_path(folder: Path, problem: str) -> Path:
    """Returns the file with the statistics of a problem whose spec is, or would be, in *folder*."""
    return folder / f"{problem}{STATISTICS}"


def spec_name(digest: str) -> str:
    """Returns what an entry states for the spec with *digest*."""
    return digest[:_DIGEST]


def read_statistics(path: Path) -> tuple[TermStatistics, ...]:
    """Returns the entries of the file at *path*; none if there is no file. Raises SpecErrors."""
    if not path.exists():
        return ()
    source = read_yaml(path)
    shaped = shape(StatisticsFile, source.data, source, ())
    errors = list(shaped.errors)
    if isinstance(shaped.record, StatisticsFile) and not errors:
        for index, term in enumerate(shaped.record.terms):
            for name, part in term.parts.items():
                errors += [
                    source.error(("terms", index, "parts", name, key), what, _FIX)
                    for key, what in _check_part(part)
                ]
    if errors or not isinstance(shaped.record, StatisticsFile):
        raise SpecErrors(tuple(errors))
    return shaped.record.terms


_FIX = "restore the file, or delete it and run `grader report --collect` again"


def _check_part(part: PartStatistics) -> Iterable[tuple[str, str]]:
    """Yields the key and a description of each number in *part* that can't be right."""
    if part.students < FEWEST:
        yield "students", f"{part.students} students are fewer than {FEWEST}"
    for key in ("mean", "solved", "blank"):
        if not 0 <= getattr(part, key) <= 1:
            yield key, f"'{key}' can't be {getattr(part, key):g}: it is a share from 0 to 1"
    if part.discrimination is not None and abs(part.discrimination) > 1:
        yield "discrimination", f"a correlation can't be {part.discrimination:g}"
    for name, share in part.mistakes.items():
        if not 0 <= share <= 1:
            yield "mistakes", f"the share of '{name}' can't be {share:g}"


def add_term(path: Path, term: TermStatistics) -> None:
    """Adds *term* to the file at *path*; it replaces the entry of the same results and spec.

    Raises SpecErrors if the file can't be read, and SetupError if it can't be written.
    """
    others = [
        statistic
        for statistic in read_statistics(path)
        if (statistic.spec, statistic.results) != (term.spec, term.results)
    ]
    terms = sorted((*others, term), key=lambda entry: (entry.term, entry.results, entry.spec))
    data = {"terms": [_drop_empty(asdict(entry)) for entry in terms]}
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    write_atomic(path, (_HEAD + text).encode())


def _drop_empty(data: object) -> object:
    """Returns *data* without the entries of dicts that are None or an empty dict."""
    if isinstance(data, dict):
        return {key: _drop_empty(one) for key, one in data.items() if one is not None and one != {}}
    return data


def find_terms(bank: BankIndex, problem: str, family: str) -> tuple[TermStatistics, ...]:
    """Returns the entries for a problem in the files of all banks. Raises SpecErrors."""
    terms: list[TermStatistics] = []
    for folder in bank.folders:
        terms += read_statistics(statistics_path(folder / "problems" / family, problem))
    return tuple(terms)


def combine_terms(terms: Sequence[TermStatistics], digest: str) -> Mapping[str, PartStatistics]:
    """Returns the statistics of each part over the *terms* whose spec has the *digest*."""
    same = (term.parts.items() for term in terms if term.spec == spec_name(digest))
    by_part = group_by_key(chain.from_iterable(same))
    return {name: _combine(parts) for name, parts in by_part.items()}


def _combine(parts: Sequence[PartStatistics]) -> PartStatistics:
    """Returns the mean of *parts*, weighted by students; of correlations, by Fisher's z."""
    students = sum(part.students for part in parts)

    def mean(shares: Iterable[float]) -> float:
        return sum(s * p.students for s, p in zip(shares, parts, strict=True)) / students

    names = sorted({name for part in parts for name in part.mistakes})
    correlations = [
        (p.discrimination, p.students - 3) for p in parts if p.discrimination is not None
    ]
    weight = sum(count for _, count in correlations)
    z = sum(math.atanh(max(-0.999, min(r, 0.999))) * n for r, n in correlations)
    return PartStatistics(
        students=students,
        mean=mean(part.mean for part in parts),
        solved=mean(part.solved for part in parts),
        discrimination=math.tanh(z / weight) if weight else None,
        blank=mean(part.blank for part in parts),
        mistakes={name: mean(part.mistakes.get(name, 0.0) for part in parts) for name in names},
    )
