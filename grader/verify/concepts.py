"""Checks the concepts that problems cite against the inventory of the bank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.bank.index import BankIndex
from grader.bank.yaml12 import read_yaml
from grader.registry import suggest
from grader.verify.case import Finding
from grader.verify.one_problem import Verified


def find_unknown_concepts(bank: BankIndex, results: Iterable[Verified]) -> Iterator[Finding]:
    """Yields a finding for each concept that a problem cites and the inventory lacks.

    Problems in a folder without `concepts.yaml` may cite any concept. Raises SpecError if the
    inventory can't be read.
    """
    inventory = bank.concepts()
    for result in results:
        unknown = [concept for concept in result.concepts if concept not in inventory]
        if not unknown:
            continue
        path = bank.path(result.problem)
        if not (path.parent.parent / "concepts.yaml").is_file():
            continue
        source = read_yaml(path)  # only now: a run in which everything is cached reads no problem
        is_mapping = isinstance(source.data["concepts"], dict)
        for concept in unknown:
            key = concept if is_mapping else result.concepts.index(concept)
            yield Finding(
                problem=result.problem,
                check="concepts",
                where=source.at(("concepts", key), key=is_mapping),
                what=f"the concept '{concept}' is not in problems/concepts.yaml",
                fix=suggest(concept, inventory, "correct the id, or add the concept"),
            )
