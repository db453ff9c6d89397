"""Collects the problems of a bank for the catalogue, with variants that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.bank.folders import Bank
from grader.bank.heads import Head
from grader.bank.listing import read_heads
from grader.bank.statistics import PartStatistics
from grader.errors import SpecError
from grader.integrations.paper.printing import printed_problem
from grader.kinds.answers import needs_computer
from grader.model.printed import PrintedProblem
from grader.notebook.render import cell_id
from grader.release.rendering import Preview, preview
from grader.text.words import part_letter

VARIANTS = 3
_SEEDS = 12
"""The number of seeds that are tried to find variants that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """A concept of the inventory."""

    id: str
    topic: str
    sentence: str

    @property
    def name(self) -> str:
        """The topic with spaces in place of hyphens."""
        return self.topic.replace("-", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVariant:
    """A variant with the code cells that a student sees."""

    number: int
    """Its number among the variants on the page, from 1."""
    seed: int
    """Its number for `grader show --seed`."""
    problem: PrintedProblem
    """Its texts, with its key and worked solution. **Secret.**"""
    sources: Mapping[str, str]
    """The sources of its code cells, by id."""

    @property
    def tools(self) -> Mapping[str, str]:
        """The titles and the sources of the cells with definitions that answers may use."""
        cells = [text for id_, text in self.sources.items() if id_.startswith("tools-")]
        titles_and_rests = (text.partition("\n")[::2] for text in cells)
        return {title.removeprefix("#@title "): rest for title, rest in titles_and_rests}

    def answer_cell(self, name: str) -> str:
        """Returns the source of the cell for the answer *name*."""
        return self.sources[cell_id(name)]

    def example_cell(self, name: str) -> str:
        """Returns the source of the cell with visible examples; empty if there are none."""
        return self.sources.get(cell_id(f"try-{name}"), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A problem in the catalogue."""

    head: Head
    family: str
    code: bool
    """Whether a part needs code or a measurement."""
    concepts: tuple[Concept, ...]
    letters: Mapping[str, str]
    """The letters of the parts that examine a concept, such as "a, c", by the concept's id; without
    concepts that all parts examine."""
    sets: Mapping[str, str]
    """The titles of the sets that may ask it, by id."""
    statistics: Mapping[str, PartStatistics]
    """How students did in earlier terms, by part; empty if unknown."""
    variants: tuple[ShownVariant, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its parts, each once."""
        return tuple(dict.fromkeys(part.kind for part in self.head.parts))


def collect_entries(bank: Bank) -> tuple[Sequence[CatalogueEntry], tuple[SpecError, ...]]:
    """Returns the problems of *bank*, sorted by family and title, and the errors in its files."""
    heads, head_errors = read_heads(bank)
    errors = list(head_errors)
    concepts = {
        name: Concept(id=name, topic=about.get("topic", name), sentence=about.get("sentence", ""))
        for name, about in bank.concepts().items()
    }
    sets = _sets_by_problem(bank, errors)
    order = {family: place for place, family in enumerate(bank.families)}
    entries = []
    for head in sorted(heads, key=lambda head: (order[head.family], head.title)):
        try:
            entries.append(_make_entry(bank, head, concepts, sets.get(head.id, {})))
        except SpecError as wrong:
            errors += wrong.errors
    unique = {str(error): error for error in errors}  # a problem may be in several sets
    return entries, tuple(unique.values())


def _sets_by_problem(bank: Bank, errors: list[SpecError]) -> Mapping[str, Mapping[str, str]]:
    """Returns the titles of the sets that may ask each problem, by set; adds to *errors*."""
    titles: dict[str, dict[str, str]] = {}
    for name in bank.listed_sets:
        try:
            exam = bank.exam(name)
        except SpecError as wrong:
            errors += wrong.errors
        else:
            for problem in exam.problem_ids:
                titles.setdefault(problem, {})[exam.id] = exam.title
    return titles


def _make_entry(
    bank: Bank, head: Head, concepts: Mapping[str, Concept], sets: Mapping[str, str]
) -> CatalogueEntry:
    """Returns the catalogue's entry of the problem *head*, with variants and their solutions."""
    return CatalogueEntry(
        head=head,
        family=bank.families[head.family],
        code=any(needs_computer(part.kind) for part in head.parts),
        concepts=tuple(concepts[name] for name in head.concepts if name in concepts),
        letters=_concept_letters(head),
        sets=sets,
        statistics=bank.statistics(head),
        variants=tuple(
            ShownVariant(
                number=number,
                seed=shown.seed,
                problem=printed_problem(shown.paper.questions[0]),
                sources={cell.id: cell.source for cell in shown.cells if cell.type == "code"},
            )
            for number, shown in enumerate(_different_previews(bank, head.id), start=1)
        ),
    )


def _concept_letters(head: Head) -> Mapping[str, str]:
    """Returns the letters of the parts on each concept, without concepts that all parts examine."""
    letters = {part.id: part_letter(number) for number, part in enumerate(head.parts)}
    named = {concept: head.parts_on(concept) for concept in head.concepts}
    return {
        concept: ", ".join(letters[part] for part in letters if part in parts)
        for concept, parts in named.items()
        if len(parts) < len(letters)
    }


def _different_previews(bank: Bank, problem: str) -> Iterator[Preview]:
    """Yields up to `VARIANTS` variants of *problem* that students can tell apart."""
    distinct = []
    for seed in range(_SEEDS):
        shown = preview(bank, problem, seed)
        cells = [cell.source for cell in shown.cells]
        if cells not in distinct:
            distinct.append(cells)
            yield shown
        if len(distinct) == VARIANTS:
            return
