"""Checks the concepts that problems cite against the inventory of the bank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.bank.index import BankIndex
from grader.bank.yaml12 import read_yaml
from grader.errors import GraderError
from grader.registry import suggest
from grader.verify.case import Finding


def find_unknown_concepts(bank: BankIndex, names: Iterable[str]) -> Iterator[Finding]:
    """Yields a finding for each concept that one of the problems cites and the inventory lacks.

    Problems in a folder without `concepts.yaml` may cite any concept. Problems that can't be read
    are left out. Raises SpecError if the inventory can't be read.
    """
    inventory = bank.concepts()
    for name in names:
        try:
            path = bank.path(name)
            if not (path.parent.parent / "concepts.yaml").is_file():
                continue
            source = read_yaml(path)
        except GraderError:
            continue  # the result of the problem says why
        cited = source.data.get("concepts") if isinstance(source.data, dict) else None
        if not isinstance(cited, (dict, tuple)):
            continue
        keys = cited if isinstance(cited, dict) else range(len(cited))
        for key, concept in zip(keys, cited, strict=True):
            if str(concept) not in inventory:
                yield Finding(
                    problem=name,
                    check="concepts",
                    where=source.at(("concepts", key), key=isinstance(cited, dict)),
                    what=f"the concept '{concept}' is not in problems/concepts.yaml",
                    fix=suggest(str(concept), inventory, "correct the id, or add the concept"),
                )
