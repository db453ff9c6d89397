"""Verifies corrected specs before they take effect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.gradebook import Gradebook
from grader.grading.sources import require_release
from grader.release.papers import papers_of
from grader.verify import Verified, verify_problem
from grader.verify.one_problem import OF_VARIANTS

GATE_SEEDS = 10
"""Variants checked for a corrected spec before it takes effect; code is run for one."""


def verify_changed(out: Path, bank: Bank) -> tuple[Verified, ...]:
    """Runs the gate on the specs in *bank* that differ from those in effect for *out*.

    Only keys and marks are checked, since students already have the numbers of their variants.
    """
    with Gradebook.open(out) as book:
        require_release(book)
        counts = papers_of(book).counts
    same_facts = dict(counts.facts) == dict(bank.facts)
    changed = (n for n, old in counts.digests.items() if not same_facts or bank.digest(n) != old)
    results = (verify_problem(bank, name, GATE_SEEDS, code_seeds=1) for name in changed)
    return tuple(
        replace(r, findings=tuple(f for f in r.findings if f.check not in OF_VARIANTS))
        for r in results
    )
