"""Every exporter holds to the contract of exporters, and the suite finds what does not."""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from grader.errors import SetupError
from grader.integrations.base import (
    ClassExporter,
    Exporter,
    QuizExporter,
    StudentExporter,
    exporters,
    option,
)
from grader.integrations.lms.quizzes.moodle import Moodle
from grader.integrations.lms.quizzes.qti import Qti
from grader.integrations.nbgrader.export import Nbgrader
from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz
from grader.testing import STUDENTS, Points, Read, check_exporter, quizzes
from grader.testing.samples import MOST, settled_classes
from tests.helpers import moodle_reader, qti_reader

RUNNER = {
    "CLASSROOM": "mlsys",
    "ASSIGNMENT": "midterm",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/1",
    "COMMIT_URL": "https://github.com/org/ada/commit/1",
    "RELEASE_URL": "https://github.com/org/ada/releases/1",
    "GITHUB_STEP_SUMMARY": "summary.md",
}
COLUMN = "Midterm (4711)"
CANVAS = (
    f"Student,ID,SIS Login ID,{COLUMN}\n    Points Possible,,,{MOST:g}\n"
    + "".join(f'"{s.name or s.id}",{n},{s.id},\n' for n, s in enumerate(STUDENTS, 1001))
)  # fmt: skip
WORKSHEET = "Identifier,ID number,Grade,Maximum Grade\n" + "".join(
    f"Participant {n},{s.id},,{MOST:g}\n" for n, s in enumerate(STUDENTS)
)


def rows(exported: Exported, name: str) -> list[dict[str, str]]:
    text = exported.files[name].decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def number(cell: str) -> float | None:
    return float(cell) if cell and cell != "EX" else None


def read_csv(exported: Exported) -> Mapping[str, Points]:
    found = rows(exported, "results.csv")
    return {r["student"]: Points(earned=number(r["total"]), most=number(r["max"])) for r in found}


def read_canvas(exported: Exported) -> Mapping[str, Points]:
    _, *found = rows(exported, "grades.csv")
    return {r["SIS Login ID"]: Points(earned=number(r[COLUMN])) for r in found}


def read_worksheet(exported: Exported) -> Mapping[str, Points]:
    found = rows(exported, "grades.csv")
    return {r["ID number"]: Points(earned=number(r["Grade"])) for r in found}


def read_github(exported: Exported) -> Mapping[str, Points]:
    """As the reporter: what is in the step's outputs, added up."""
    given = json.loads(exported.files["outputs.json"])
    loaded = [json.loads(base64.b64decode(given[n])) for n in given["runners"].split(",") if n]
    tests = [test for one in loaded for test in one["tests"]]
    most = sum(one["max_score"] for one in loaded)
    earned = sum(test["score"] for test in tests)
    return {"": Points(earned=earned if loaded else None, most=most)}


def read_classroom50(exported: Exported) -> Mapping[str, Points]:
    data = json.loads(exported.files["result.json"])
    added = sum(test["score"] for test in data["tests"])
    assert data["score"] == added or "deductions" in " ".join(exported.notes)
    earned = data["score"] / 100 if data["tests"] else None
    return {"": Points(earned=earned, most=data["max-score"] / 100)}


def read_gradescope(exported: Exported) -> Mapping[str, Points]:
    data = json.loads(exported.files["results.json"])
    most = sum(test.get("max_score", 0) for test in data["tests"])
    return {"": Points(earned=data.get("score"), most=most if data["tests"] else None)}


def read_actions(exported: Exported) -> Mapping[str, Points]:
    """The total of the summary, if it gives one."""
    text = exported.appended_text[Path("summary.md")]
    found = re.search(r"^([\d.]+) of ([\d.]+) points(?: so far)?$", text, re.M)
    if found is None:
        return {}
    return {"": Points(earned=float(found[1]), most=float(found[2]))}


def read_moodle(exported: Exported) -> Mapping[str, Points]:
    """What a quiz is out of: one random question of each category, with the category's mark."""
    categories = moodle_reader.read(exported.files["quiz.xml"])
    marks = []
    for category in categories:
        said = re.search(r"maximum mark is ([\d.]+)\.", category.info)
        assert said is not None
        assert category.questions
        marks.append(float(said[1]))
    return {"": Points(most=sum(marks))}


def read_qti(exported: Exported) -> Mapping[str, Points]:
    package = qti_reader.read(exported.files["exam.zip"])
    most = sum(entry.points for entry in package.entries)
    assert most == pytest.approx(package.points)
    return {"": Points(most=most)}


def read_nbgrader(exported: Exported) -> Mapping[str, Points]:
    """The points of the cells that are graded, by the metadata of the source notebook."""
    (name,) = (name for name in exported.files if name.startswith("source/"))
    cells = [c["metadata"].get("nbgrader", {}) for c in json.loads(exported.files[name])["cells"]]
    return {"": Points(most=sum(cell["points"] for cell in cells if cell.get("grade")))}


CASES: Mapping[str, tuple[dict[str, Any], Read]] = {
    "csv": ({}, read_csv),
    "github": ({}, read_github),
    "actions": ({}, read_actions),
    "classroom50": ({}, read_classroom50),
    "gradescope": ({}, read_gradescope),
    "canvas": ({"gradebook": CANVAS, "column": COLUMN}, read_canvas),
    "worksheet": ({"gradebook": WORKSHEET}, read_worksheet),
    "moodle": ({}, read_moodle),
    "qti": ({}, read_qti),
    "nbgrader": ({"version": "A"}, read_nbgrader),
}


def test_every_exporter_is_tried_and_every_format_of_the_command_is_one() -> None:
    from grader.cli.export_command import command

    written = command.list_commands(click.Context(command))
    assert set(CASES) == set(exporters) == set(written)


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Exporter[Any]]:
    """The registered exporter with a name, with options and a runner's environment."""
    for variable, value in RUNNER.items():
        monkeypatch.setenv(variable, value)

    def made(name: str) -> Exporter[Any]:
        options = dict(CASES[name][0])
        if "gradebook" in options:
            file = tmp_path / "grades.csv"
            file.write_text(options["gradebook"], encoding="utf-8")
            options["gradebook"] = file
        if name == "actions":
            monkeypatch.chdir(tmp_path)
            Path("exam.ipynb").write_text("{}", encoding="utf-8")
            options["notebook"] = Path("exam.ipynb")
        return exporters.find(name)(**options)

    return made


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_every_exporter_holds_to_its_contract(
    name: str, registered: Callable[[str], Exporter[Any]]
) -> None:
    _, read = CASES[name]
    exporter = registered(name)
    check_exporter(exporter, read, missing_is_zero=name == "gradescope")


# What another package brings along


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table(ClassExporter):
    """A table of everybody's points, as somebody else's package may write one."""

    title: str = option("points", help="Title of the column.")

    def export(self, subject: ClassResults) -> Exported:
        written = [f"student,{self.title}"]
        open_ = [r for r in subject.results if not r.feedback.complete]
        for result in subject.results:
            feedback = result.feedback
            written.append(f"{feedback.student.id},{self.points(result)}")
        notes = [f"no points for {r.feedback.student.id}: they are open" for r in open_]
        return Exported(files={"table.csv": "\n".join(written).encode()}, notes=tuple(notes))

    def points(self, result: Result) -> str:
        return f"{result.feedback.score:.6f}" if result.feedback.complete else ""


def read_table(exported: Exported) -> Mapping[str, Points]:
    return {r["student"]: Points(earned=number(r["points"])) for r in rows(exported, "table.csv")}


def test_somebody_elses_exporter_is_held_to_the_same() -> None:
    check_exporter(Table(), read_table)


class OpenAsZero(Table):
    def points(self, result: Result) -> str:
        return f"{result.feedback.score:.6f}"


class Rounded(Table):
    def points(self, result: Result) -> str:
        return f"{result.feedback.score:.0f}" if result.feedback.complete else ""


class Silent(Table):
    def export(self, subject: ClassResults) -> Exported:
        return dataclasses.replace(super().export(subject), notes=())


class Named(Table):
    """Students' names go into the table as they are."""

    def export(self, subject: ClassResults) -> Exported:
        made = super().export(subject)
        names = "".join(f"\n{r.feedback.student.name},1" for r in subject.results)
        return dataclasses.replace(
            made, files={"table.csv": made.files["table.csv"] + names.encode("utf-8", "replace")}
        )


class Changing(Table):
    count = 0

    def export(self, subject: ClassResults) -> Exported:
        Changing.count += 1
        made = super().export(subject)
        return dataclasses.replace(made, notes=(*made.notes, f"number {self.count}"))


class Failing(Table):
    def export(self, subject: ClassResults) -> Exported:
        return super().export(subject) if subject.results[0] else Exported(files={})


class Refusing(Table):
    def export(self, subject: ClassResults) -> Exported:
        raise SetupError("not today", fix="come back tomorrow")


class Helpless(Table):
    def export(self, subject: ClassResults) -> Exported:
        if not all(r.feedback.complete for r in subject.results):
            raise SetupError("points are open")
        return super().export(subject)


class Outside(Table):
    def export(self, subject: ClassResults) -> Exported:
        made = super().export(subject)
        return dataclasses.replace(made, files={**made.files, "../table.csv": b""})


class Absent(Table):
    def points(self, result: Result) -> str:
        return super().points(result) or ("" if result.feedback.problems else "0")


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (OpenAsZero, "0.0 points are read, although some are open"),
        (Rounded, r"4.25 points go in, 4.0 are read, and no note says why"),
        (Silent, "no note names the open parts"),
        (Named, "a spreadsheet would compute the cell '=HYPERLINK"),
        (Changing, "two exports of the same differ"),
        (Failing, "no student at all: IndexError"),
        (Refusing, "refused although nothing is lost"),
        (Helpless, "refused without a fix"),
        (Outside, "the file's name '../table.csv'"),
        (Absent, "0.0 points are read, although nothing was graded"),
    ],
    ids=lambda found: found.__name__ if isinstance(found, type) else "finds",
)
def test_the_suite_finds_what_does_not_hold(broken: Callable[[], Table], what: str) -> None:
    with pytest.raises(AssertionError, match=what):
        check_exporter(broken(), read_table)


@dataclasses.dataclass(frozen=True)
class Log(StudentExporter):
    """A student's result as lines of a log."""

    def export(self, subject: Result) -> Exported:
        parts = [part for problem in subject.feedback.problems for part in problem.parts]
        text = "".join(f"{part.name}\n{part.answer}\n" for part in parts)
        return Exported(files={"log.txt": text.encode("utf-8", "replace")})


def test_a_students_text_that_is_live_in_a_log_is_found() -> None:
    def read(exported: Exported) -> Mapping[str, Points]:
        return {}

    with pytest.raises(AssertionError, match="no points are read"):
        check_exporter(Log(), read)

    def told(exported: Exported) -> Mapping[str, Points]:
        return {"": Points(earned=json.loads(exported.files["score.json"]))}

    class Scored(Log):
        def export(self, subject: Result) -> Exported:
            made, feedback = super().export(subject), subject.feedback
            settled = [p for q in feedback.problems for p in q.parts if p.points is not None]
            score = json.dumps(feedback.score if settled else None).encode()
            text = made.files["log.txt"] + feedback.standing.value.encode()
            return Exported(files={"log.txt": text, "score.json": score})

    with pytest.raises(AssertionError, match=r"log.txt: a runner would take the line '::error"):
        check_exporter(Scored(), told)


class Leaking(Nbgrader):
    """What students get has the hidden tests, in base64."""

    def export(self, subject: Quiz) -> Exported:
        made = super().export(subject)
        (source,) = (data for name, data in made.files.items() if name.startswith("source/"))
        files = {**made.files, "students/quiz-A/extra.txt": base64.b64encode(source)}
        return dataclasses.replace(made, files=files)


class Dropping(Moodle):
    """Leaves out what it can't ask without being told to, and says nothing."""

    def export(self, subject: Quiz) -> Exported:
        whole = Moodle(leave_out=True).export(subject)
        return dataclasses.replace(whole, notes=())


class Mute(Qti):
    """Names nothing of what does not survive."""

    def export(self, subject: Quiz) -> Exported:
        return dataclasses.replace(super().export(subject), notes=())


class Raw(Moodle):
    """Texts of the set get out of their places."""

    def export(self, subject: Quiz) -> Exported:
        made = super().export(subject)
        data = made.files["quiz.xml"].replace(b"&amp;lt;", b"&lt;")
        return dataclasses.replace(made, files={"quiz.xml": data})


@pytest.mark.parametrize(
    ("broken", "read", "what"),
    [
        (
            Leaking(version="A"),
            read_nbgrader,
            "extra.txt, which students get, has a mistake",
        ),
        (Dropping(), read_moodle, r"points go in, and|no note"),
        (Mute(), read_qti, "no note about q1_part says: unit slips"),
        (Raw(), read_moodle, "its text has live markup"),
    ],
    ids=["Leaking", "Dropping", "Mute", "Raw"],
)
def test_the_suite_finds_what_a_quiz_loses_or_gives_away(
    broken: Exporter[Quiz], read: Read, what: str
) -> None:
    with pytest.raises(AssertionError, match=what):
        check_exporter(broken, read)


def a_settled_class() -> ClassResults:
    return settled_classes()["a class"]


@pytest.mark.parametrize(
    ("name", "file", "stored"),
    [
        ("canvas", "grades.csv", "canvas.csv"),
        ("worksheet", "grades.csv", "worksheet.csv"),
        ("actions", "stdout", "annotations.txt"),
        ("nbgrader", "source/quiz-A/quiz.ipynb", "nbgrader-source.ipynb"),
        ("nbgrader", "students/quiz-A/quiz.ipynb", "nbgrader-students.ipynb"),
    ],
    ids=["canvas", "worksheet", "actions", "nbgrader-source", "nbgrader-students"],
)
def test_the_format_byte_for_byte(name: str, file: str, stored: str, golden, registered) -> None:
    """Of the formats whose own tests have no golden file."""
    exporter = registered(name)
    subject: object = a_settled_class()
    if isinstance(exporter, StudentExporter):
        subject = a_settled_class().results[0]
    elif isinstance(exporter, QuizExporter):
        subject = quizzes()["several options, net-correct, beside another part"]
    exported = exporter.export(subject)
    golden(stored, exported.stdout or exported.files[file].decode())


def test_the_example_of_the_documentation_holds_to_the_contract() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "extend.md"
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S))
    names: dict[str, Any] = {}
    exec(code, names)
    names["test_the_format_satisfies_its_contract"]()
