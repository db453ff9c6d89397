"""A student's notebook with every answer filled in."""

from __future__ import annotations

from pathlib import Path

from grader.bank.folders import Bank
from grader.errors import SetupError, SubmissionError
from grader.files import write_atomic
from grader.model import Release
from grader.notebook import read, write
from grader.notebook.render import metadata, render, solution
from grader.notebook.self_description import read_owner
from grader.release.papers import Papers
from grader.release.rendering import Notebooks


def solve(release: Release, student: str, out: Path, bank: Bank) -> None:
    """Writes the student's notebook with every answer filled in, which only the owner can read.

    Raises SetupError rather than replace a file that may be a student's work, or that is not
    the notebook of an exam.
    """
    if out.is_file() and not _is_replaceable(out, release, student, bank):
        raise SetupError(
            "this file exists already, and would be lost",
            where=str(out),
            fix="choose another name for --out, or remove the file",
        )
    write_atomic(out, _render_solved(release, student, bank), private=True)


def _render_solved(release: Release, student: str, bank: Bank) -> bytes:
    mine = Papers(release=release).of(student)
    return write(render(mine, bank.templates, solution(mine)), metadata(mine))


def _is_replaceable(file: Path, release: Release, student: str, bank: Bank) -> bool:
    """Returns whether *file* is a notebook of another release, or one that nobody has edited:
    as handed out, or as `solve` writes it, for *student* or for the student it names."""
    data = file.read_bytes()
    try:
        owner = read_owner(read(data))
    except SubmissionError:
        return False
    if owner.release not in ("", release.id):
        return True
    owners = {student, owner.student} & release.students.keys()
    return any(
        data
        in (_render_solved(release, id_, bank), Notebooks(release, bank).of(release.students[id_]))
        for id_ in owners
    )
