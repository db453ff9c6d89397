"""`grader list`, `show`, `coverage`, `new`, and `schema`: the bank."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, JSON, open_bank, print_errors, print_json, table
from grader.cli.parameters import FOLDER, argument, option, subcommand
from grader.errors import SpecError
from grader.text.words import count_of, points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grader.bank.coverage import Coverage
    from grader.bank.folders import Bank
    from grader.bank.heads import Head
    from grader.bank.statistics import PartStatistics


@subcommand("list", "grader list", "grader list --family numerics", "grader list --json")
def list_command(
    family: str | None = option(
        None, metavar="FAMILY", help="List only the problems of this family."
    ),
    sets: bool = option(False, help="List the sets instead."),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> int:
    """List the problems of the bank, or its sets.

    Files that can't be read are reported after the list, and the command exits 1. Expressions,
    texts, and solutions are not checked: use `grader verify` for that.
    """
    if sets:
        if family:
            raise click.UsageError("--family can't be used with --sets.")
        return _list_sets(banks, as_json=as_json)
    from grader.bank.index import BankIndex
    from grader.bank.listing import read_heads

    bank = BankIndex.open(banks)
    if family:
        bank.check_family(family)
    heads, errors = read_heads(bank, family)
    if as_json:
        print_json([_head_data(head) for head in heads])
    else:
        click.echo(_problem_table(heads))
    return _print_errors(errors)


def _head_data(head: Head) -> dict[str, object]:
    """Returns what `--json` prints of a problem."""
    names = ("id", "title", "family", "level", "minutes", "points", "topics")
    parts = [
        {"id": part.id, "kind": part.kind, "concepts": sorted(head.examined_by([part.id]))}
        for part in head.parts
    ]
    fields = {name: getattr(head, name) for name in names}
    return {**fields, "concepts": list(head.concepts), "parts": parts}


def _problem_table(heads: Sequence[Head]) -> str:
    """Returns the table of *heads* and a count, or a hint if there are none."""
    if not heads:
        return "0 problems. Write one: grader new FAMILY/ID --into DIR"
    rows = [(h.id, h.family, h.level, f"{h.minutes:g}", points(h.points), h.title) for h in heads]
    header = ("id", "family", "level", "min", "points", "title")
    return (
        f"{table(header, rows, right=(3, 4))}\n\n"
        f"{count_of(len(heads), 'problem')}. See one: grader show {heads[0].id}"
    )


def _list_sets(banks: tuple[str, ...], *, as_json: bool) -> int:
    """Prints the sets of the banks and the errors in them, and returns the exit status."""
    bank = open_bank(banks)
    exams, errors = [], list(bank.faults())
    for name in bank.listed_sets:
        try:
            exams.append(bank.exam(name))
        except SpecError as wrong:
            errors += wrong.errors
    errors = list({str(error): error for error in errors}.values())  # of a problem in several sets
    if as_json:
        print_json([{"id": e.id, "title": e.title, "problems": list(e.problem_ids)} for e in exams])
    else:
        rows = [(e.id, str(sum(s.count for s in e.slots)), e.title) for e in exams]
        click.echo(table(("set", "problems", "title"), rows, right=(1,)))
    return _print_errors(errors)


def _print_errors(errors: Sequence[SpecError]) -> int:
    """Prints *errors*, and returns the exit status."""
    if not errors:
        return 0
    print_errors(f"{count_of(len(errors), 'error')} in files that are not listed:", errors)
    return 1


@subcommand(
    "show",
    "grader show kv-cache-size",
    "grader show kv-cache-size --seed 7 --key",
    "grader show mybank/problems/numerics/ulp.yaml",
    "grader show midterm",
)
def show_command(
    wanted: str = argument(metavar="ID"),
    seed: int = option(0, least=0, help="Number of the variant to show."),
    key: bool = option(False, help="Also show the answers, tolerances, and mistakes."),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Show one variant of a problem as a student sees it, or the table of a set.

    If `grader report --collect` gathered statistics of the problem, they are shown below it.

    ID is the id of a problem or a set, or a path to its YAML file. The table of a set has its
    problems, minutes, points, families, levels, and concepts, and compares 200 papers.
    """
    from grader.release.rendering import preview

    bank = open_bank(banks)
    if bank.is_set(wanted):
        if key:
            raise click.UsageError("--key needs a problem. For the key of a set, use `grader key`.")
        _show_set(bank, wanted, as_json=as_json)
        return
    shown = preview(bank, wanted, seed)
    part_statistics = bank.statistics(shown.paper.questions[0].variant.problem)
    if as_json:
        data = shown.as_data(key=key)
        statistics = {name: asdict(part) for name, part in part_statistics.items()}
        print_json(data | ({"statistics": statistics} if part_statistics else {}))
        return
    text = shown.as_markdown(key=key)
    if part_statistics:
        text += _statistics_text(part_statistics, key=key)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text)


def _statistics_text(part_statistics: Mapping[str, PartStatistics], *, key: bool) -> str:
    """Returns a list in Markdown: a line for each part."""
    lines = []
    for name, part in part_statistics.items():
        text = f"{part.mean:.0%} of the points, {part.solved:.0%} solved it"
        text += f", {part.blank:.0%} gave no answer"
        if part.discrimination is not None:
            text += f"; discrimination {part.discrimination:.2f}"
        if key and part.mistakes:
            listed = (f"`{one}` {share:.0%}" for one, share in part.mistakes.items())
            text += f"; mistakes: {', '.join(listed)}"
        lines.append(f"- `{name}`: {count_of(part.students, 'student')}, {text}")
    return "\n\n---\n\n## Earlier terms\n\n" + "\n".join(lines)


def _show_set(bank: Bank, wanted: str, *, as_json: bool) -> None:
    """Prints the composition of the set *wanted* as text or JSON."""
    from grader.release.composition import composition

    composed = composition(bank, wanted)
    if as_json:
        print_json(composed.as_data())
        return
    from grader.cli.set_table import set_text

    topics = {name: concept.get("topic", "") for name, concept in bank.concepts().items()}
    click.echo(set_text(composed, topics))


@subcommand("coverage", "grader coverage", "grader coverage --missing --json")
def coverage_command(
    missing: bool = option(False, help="Also list the concepts that no problem examines."),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> int:
    """Show which concepts of the inventory are examined, and by which problems.

    If a problem cites an unknown concept or can't be read, it is listed at the end, and the
    command exits 1.
    """
    from grader.bank.coverage import coverage
    from grader.bank.index import BankIndex

    covered = coverage(BankIndex.open(banks))
    if as_json:
        print_json(covered.as_data())
    else:
        _print_coverage(covered, missing=missing)
    if covered.errors:
        print_errors(f"{count_of(len(covered.errors), 'error')}; not counted:", covered.errors)
    return 1 if covered.unknown_concepts or covered.errors else 0


def _print_coverage(covered: Coverage, *, missing: bool) -> None:
    """Prints the table of families and, with *missing*, the concepts that no problem examines."""
    by_family = [
        (family, str(have), str(total), f"{have / total:.0%}")
        for family, (have, total) in sorted(covered.by_family().items())
    ]
    have, total = len(covered.problems), len(covered.concepts)
    by_family.append(("all", str(have), str(total), f"{have / total:.0%}" if total else "-"))
    click.echo(table(("family", "examined", "of", "share"), by_family, right=(1, 2, 3)))
    unexamined = sorted(set(covered.concepts) - set(covered.problems))
    if missing and not unexamined:
        click.echo("\nEvery concept is examined by at least one problem.")
    elif missing:
        click.echo("\nNot examined by any problem:")
        for name in unexamined:
            click.echo(f"  {name}  {covered.concepts[name].get('topic', '')}")
    for name, problems in sorted(covered.unknown_concepts.items()):
        click.echo(f"unknown concept '{name}' in {', '.join(problems)}", err=True)


@subcommand(
    "new",
    "grader new memory-math/my-first-problem --into mybank",
    "grader new numerics/my-first-problem --into ~/course",
)
def new_command(
    new_problem: str = argument(metavar="FAMILY/ID"),
    into: Path = option(
        Path(),
        type=FOLDER,
        help="Bank to write into; the files go to its problems/ and solutions/. Default: the "
        "current folder.",
    ),
) -> None:
    """Write a commented skeleton of a problem and its solution, which already passes verification.

    FAMILY is a built-in family, or one that the bank declares in problems/families.yaml.
    """
    from grader.bank.skeleton import write_skeleton

    problem, solution = write_skeleton(new_problem, into)
    click.echo(f"{problem}: the spec, with a comment for every key")
    click.echo(f"{solution}: its independent solution")
    click.echo(f"\nNext: grader verify {problem.stem} --bank {shlex.quote(str(into))}")


@subcommand(
    "schema",
    "grader schema > problem.schema.json",
    "grader schema --bank . > problem.schema.json   # with the bank's own families",
    "grader schema --course > course.schema.json",
)
def schema_command(
    sets: bool = option(False, help="Print the schema of sets instead."),
    course: bool = option(False, help="Print the schema of course files instead."),
    banks: tuple[str, ...] = BANKS,
) -> None:
    """Print the JSON Schema of problems, of sets, or of course files.

    The schema allows the built-in families and those that the bank declares. In VS Code with the
    YAML extension, start a spec with the line '# yaml-language-server: $schema=PATH' to get
    completion and checks while typing.
    """
    from grader.bank.index import BankIndex
    from grader.bank.schema import course_schema, json_schema, set_schema

    if sets and course:
        raise click.UsageError("--sets and --course can't be used together.")
    if sets or course:
        print_json(set_schema() if sets else course_schema())
    else:
        print_json(json_schema(BankIndex.open(banks).families))
