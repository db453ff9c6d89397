"""`grader shared-answers`: lists students with answers to another student's numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import JSON, print_json, table
from grader.cli.parameters import subcommand
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.analysis.shared_answers import MatchedAnswer, SharedAnswers, SharedPair


@subcommand("shared-answers", "grader shared-answers results")
def command(results: Path, as_json: bool = JSON) -> None:
    """List students whose wrong numbers answer another student's variant.

    Lists only pairs that chance is unlikely to explain, with the answers to look at. A pair is a
    reason to look closer, not evidence against a student. The command works only if the course file
    says 'shared_answers: true'.
    """
    from grader.analysis.shared_answers import MOST_CHANCE, REASONS, find_shared_answers

    shared = find_shared_answers(results)
    if as_json:
        print_json(_shared_answers_data(shared))
        return
    for number, group in enumerate(shared.groups, start=1):
        click.echo(f"Group {number}: {', '.join(group.students)}\n")
        for pair in group.pairs:
            click.echo(_describe_pair(pair))
            header = ("part", "student", "answer", "right for the student", "for the other", "fits")
            click.echo(table(header, map(_match_row, pair.answers)) + "\n")
    pairs = sum(len(group.pairs) for group in shared.groups)
    click.echo(
        f"{count_of(pairs, 'pair')} of {shared.pairs} to look into, among "
        f"{count_of(shared.wrong, 'wrong number')} of {count_of(shared.students, 'student')}."
    )
    if pairs:
        click.echo(f"Chance alone leads to any of them in {MOST_CHANCE:.0%} of classes. {REASONS}")


def _describe_pair(pair: SharedPair) -> str:
    """Returns the line above the answers of two students."""
    one, other = pair.students
    return (
        f"{one} and {other}: by chance, a class has such a pair with probability {pair.chance:.2g}"
    )


def _match_row(match: MatchedAnswer) -> tuple[str, ...]:
    """Returns the cells of an answer that fits another student's numbers."""
    place = f"{match.part} ({match.cell})" if match.cell else str(match.part)
    return (
        place,
        match.student,
        match.format_number(match.answer),
        match.format_number(match.right),
        f"{match.meaning.value} for {match.other}",
        f"{match.chance:.1%} of variants",
    )


def _shared_answers_data(found: SharedAnswers) -> dict[str, object]:
    """Returns what `--json` prints."""
    return {
        "students": found.students,
        "wrong": found.wrong,
        "pairs": found.pairs,
        "groups": [
            {
                "students": list(group.students),
                "chance": group.chance,
                "pairs": [_pair_data(pair) for pair in group.pairs],
            }
            for group in found.groups
        ],
    }


def _pair_data(pair: SharedPair) -> dict[str, object]:
    """Returns what `--json` prints of two students."""
    return {
        "students": list(pair.students),
        "score": round(pair.score, 3),
        "chance": pair.chance,
        "answers": [_answer_data(answer) for answer in pair.answers],
    }


def _answer_data(answer: MatchedAnswer) -> dict[str, object]:
    data = asdict(answer)
    return {**data.pop("part"), **data}
