"""Made-up submissions of a class of thirty, good and bad, for `grader demo`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.draw import paper
from grader.files import write_atomic
from grader.kinds import kinds
from grader.model import Paper, Raw, Release, Student
from grader.notebook import Cell, write
from grader.notebook.render import metadata, render, solution

NAMES = (
    "Ada Okafor", "Bo Lindqvist", "Carmen Ruiz", "Dmitri Volkov", "Elif Demir", "Farid Haddad",
    "Grace Kim", "Hugo Martin", "Ines Costa", "Jun Tanaka", "Kofi Mensah", "Lena Fischer",
    "Mateo Silva", "Nadia Rahman", "Omar Farouk", "Priya Nair", "Quinn Murphy", "Rosa Bianchi",
    "Samir Patel", "Tara Novak", "Uma Iyer", "Viktor Horvat", "Wen Li", "Ximena Torres",
    "Yusuf Kaya", "Zoe Dubois", "Anton Berg", "Bella Rossi", "Chidi Eze", "Dana Weiss",
)  # fmt: skip
ENDLESS_SECONDS = 4.0
PRIVATE_KEY = "made-up-for-the-demonstration"
"""A fixed key, so that every demo has the same numbers. Never use it for a real exam."""


def students() -> tuple[Student, ...]:
    """Returns the sample roster."""
    return tuple(
        Student(id=n.split()[0].lower(), name=n, email=f"{n.split()[0].lower()}@example.edu")
        for n in NAMES
    )


def roster_csv() -> str:
    """Returns the sample roster as CSV."""
    rows = [f"{s.id},{s.name},{s.email}" for s in students()]
    return "id,name,email\n" + "\n".join(rows) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSheet:
    """The material for one made-up submission."""

    paper: Paper
    right: Mapping[str, str]
    """Every answer as Python source."""
    wrong: Mapping[str, Sequence[str]]
    """Typical wrong answers by name, as Python source: the mistakes that the problem declares."""
    templates: tuple[Path, ...]
    dice: random.Random

    def notebook(self, answers: Mapping[str, str]) -> bytes:
        """Returns the notebook with only these answers filled in."""
        return write(self.cells(answers), metadata(self.paper))

    def cells(self, answers: Mapping[str, str]) -> tuple[Cell, ...]:
        """Returns the cells of the notebook with only these answers filled in."""
        return render(self.paper, self.templates, answers)


Habit = Callable[[AnswerSheet], bytes]


def write_submissions(release: Release, templates: tuple[Path, ...], folder: Path) -> int:
    """Writes a submission of every student to *folder*, and one from an unknown person.

    They are the same in each call. Returns the number of submissions by students.
    """
    for number, student in enumerate(release.students.values()):
        _, habit = HABITS[number % len(HABITS)]
        student_paper = paper(release, student)
        sheet = AnswerSheet(
            paper=student_paper,
            right=solution(student_paper),
            wrong=_mistake_sources(student_paper),
            templates=templates,
            dice=random.Random(number),  # noqa: S311 - a demonstration, no secret
        )
        data = habit(sheet)
        write_atomic(folder / f"{student.id}.ipynb", data)
        if number == 0:
            write_atomic(folder / "stranger.ipynb", data)
    return len(release.students)


def _mistake_sources(paper: Paper) -> dict[str, list[str]]:
    """Returns wrong answers by name: declared mistakes, or if there are none, other ones."""
    wrong: dict[str, list[str]] = {}
    for name, key in paper.named_keys():
        samples = kinds.find(key.part.kind).examples(key)
        named = [s for s in samples if s.mistake is not None]
        others = [s for s in samples if s.share is not None and s.share < 1]
        sources = [_python_source(s.raw) for s in named or others]
        wrong[name] = [s for s in sources if s is not None]
    return wrong


def _python_source(raw: Raw) -> str | None:
    """Returns the Python expression for a recorded value; None if it has none."""
    value: object = raw.get("v")
    match raw.get("t"):
        case "int" | "float":
            return str(value) if str(value)[-1:].isdigit() else None
        case "bool" | "str":
            return repr(value)
        case "list" if isinstance(value, list):
            return "[" + ", ".join(_python_source(item) or "..." for item in value) + "]"
        case "dict" if isinstance(value, list):
            return (
                "{"
                + ", ".join(f"{_python_source(k)}: {_python_source(v) or '...'}" for k, v in value)
                + "}"
            )
        case _:
            return None


def _make_mistakes(share: float) -> Habit:
    """Returns the habit of a student who makes known mistakes in about *share* of the answers."""

    def habit(sheet: AnswerSheet) -> bytes:
        answers = dict(sheet.right)
        for name in answers:
            if sheet.wrong[name] and sheet.dice.random() < share:
                answers[name] = sheet.dice.choice(sheet.wrong[name])
        return sheet.notebook(answers)

    return habit


def _answer_half(sheet: AnswerSheet) -> bytes:
    names = list(sheet.right)
    return sheet.notebook({n: sheet.right[n] for n in names[: len(names) // 2]})


def _rewrite_numbers(change: Callable[[str, str], str], *cells: Cell) -> Habit:
    """Returns the habit of a student who writes right numbers in another way.

    *change* gets the answer and its unit. *cells* come before all others.
    """

    def habit(sheet: AnswerSheet) -> bytes:
        answers = dict(sheet.right)
        for name, key in sheet.paper.named_keys():
            if key.part.kind == "numeric":
                answers[name] = change(answers[name], str(getattr(key.part, "unit", "")))
        return write((*cells, *sheet.cells(answers)), metadata(sheet.paper))

    return habit


def _scale_bytes(factor: float) -> Habit:
    return _rewrite_numbers(lambda text, unit: f"{text} * {factor}" if "B" in unit else text)


_add_units = _rewrite_numbers(
    lambda text, unit: repr(f"{float(text):.6g} {unit}") if unit else text
)
_use_numpy_scalars = _rewrite_numbers(
    lambda text, _: f"numpy.float32({text})", Cell(type="code", id="imports", source="import numpy")
)


def _write_unreadable(sheet: AnswerSheet) -> bytes:
    """Returns a notebook in which every third answer can't be read."""
    odd = ("float('nan')", "None", "'about 30 GB'", "1 + 2j", "[1, 2, 3]", "'???'")
    answers = dict(sheet.right)
    for number, name in enumerate(list(answers)[::3]):
        answers[name] = odd[number % len(odd)]
    return sheet.notebook(answers)


def _raise_errors(sheet: AnswerSheet) -> bytes:
    """Returns a notebook in which every fifth answer divides by zero."""
    answers = dict(sheet.right)
    for name in list(answers)[2::5]:
        answers[name] = f"({answers[name]}) / 0"
    return sheet.notebook(answers)


def _insert_cell(source: str) -> Habit:
    """Returns the habit of a student with a perfect notebook and the cell *source* amid it."""

    def habit(sheet: AnswerSheet) -> bytes:
        cells = list(sheet.cells(sheet.right))
        cells.insert(len(cells) // 2, Cell(type="code", id="trouble", source=source))
        return write(cells, metadata(sheet.paper))

    return habit


_STUBBORN = """\
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""


def _delete_cells(sheet: AnswerSheet) -> bytes:
    cells = [c for n, c in enumerate(sheet.cells(sheet.right)) if n % 4 != 2]
    return write(cells, metadata(sheet.paper))


def _shuffle_cells(sheet: AnswerSheet) -> bytes:
    """Returns a notebook with shuffled cells, four of them twice, and no metadata."""
    cells = list(sheet.cells(sheet.right))
    sheet.dice.shuffle(cells)
    again = [replace(c, id=f"copy-{n}") for n, c in enumerate(cells[:4])]
    return write((*cells, *again), {})


HABITS: tuple[tuple[str, Habit], ...] = (
    ("perfect", _make_mistakes(0)),
    ("a few mistakes", _make_mistakes(0.12)),
    ("some mistakes", _make_mistakes(0.3)),
    ("many mistakes", _make_mistakes(0.55)),
    ("blank", lambda sheet: sheet.notebook({})),
    ("half finished", _answer_half),
    ("GiB for GB", _scale_bytes(1e9 / 2**30)),
    ("never-ending cell", _insert_cell("while True:\n    pass")),
    ("raising cells", _raise_errors),
    ("a few mistakes", _make_mistakes(0.15)),
    ("answers with units", _add_units),
    ("deleted cells", _delete_cells),
    ("shuffled and duplicated cells", _shuffle_cells),
    ("not a notebook", lambda _: b"%PDF-1.7\n% my answers, scanned\n"),
    ("some mistakes", _make_mistakes(0.25)),
    ("unreadable answers", _write_unreadable),
    ("numpy scalars", _use_numpy_scalars),
    ("bits for bytes", _scale_bytes(8)),
    ("a cell that ignores interrupts", _insert_cell(_STUBBORN)),
    ("many mistakes", _make_mistakes(0.45)),
    ("a kernel that dies", _insert_cell("import os\nos.abort()")),
    ("a few mistakes", _make_mistakes(0.1)),
    ("some mistakes", _make_mistakes(0.35)),
    ("200,000 lines of output", _insert_cell("for i in range(200_000):\n    print('step', i)")),
    ("some mistakes", _make_mistakes(0.2)),
    ("almost everything wrong", _make_mistakes(0.85)),
    ("a few mistakes", _make_mistakes(0.08)),
    ("some mistakes", _make_mistakes(0.3)),
    ("many mistakes", _make_mistakes(0.6)),
    ("perfect", _make_mistakes(0)),
)
