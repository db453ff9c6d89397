"""Sample results and quizzes for testing exporters: plain ones, and all kinds of trouble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from grader.model import Outcome, Student, Verdict
from grader.model.course import Deduction
from grader.model.exported import ClassResults, Result
from grader.model.item import (
    AcceptedTexts,
    ChoiceItem,
    ChoiceOption,
    EssayItem,
    Item,
    NumberItem,
    NumberRange,
    OrderItem,
    PairsItem,
    TextItem,
)
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.model.result import (
    CellTrouble,
    Feedback,
    RunSummary,
    ShownPart,
    ShownProblem,
    Standing,
)

STUDENTS = (
    Student(id="ada", name="Ada Lovelace", email="ada@example.edu", section="B"),
    Student(id="bo", name="Bø Åström", email="bo@example.edu", section="B"),
    Student(id="chi", name="陈 驰 𝔘", email="chi@example.edu", section="Ü"),
    Student(id="dua", name="دعاء", email="dua@example.edu", section=""),
    Student(id="eve", name="", email="", section=""),
)
"""The students in the samples. An instructor's table to fill in has a row for each."""
MOST = 8.0
"""The maximum points of the sample exam."""
HOSTILE = (
    "::error::forged",
    "\n::add-mask::a\n##[error]forged",
    '=HYPERLINK("http://evil.example")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "@everyone",
    "| a | b |",
    'a,b";c\r\nd',
    "\x00\x1b[2J\x7f\x85\u2028",
    "\ud800\u202egnp.exe",
    "]]></text></quiz>",
    "{1:NM:=5:0.1}",
)
"""Texts by which a student may try to inject something."""
SECRETS: Mapping[str, str] = {
    "the key": "73.2187",
    "an accepted text": "zephyrite",
    "the worked solution": "quagmire",
    "a mistake's feedback": "brouhaha",
    "a rubric": "persiflage",
}
"""Secrets in a sample quiz that must not appear in anything that students get."""
_FEEDBACK = SECRETS["a mistake's feedback"]


def settled_classes() -> dict[str, ClassResults]:
    """Returns classes with all marks settled, by what is special about each."""
    return {
        "a class": _class(
            _make_result(0, _two_parts(2, 0.5), _two_parts(1.75, 0)),
            _make_result(1, _two_parts(0, 0), _two_parts(0, 0)),
            _make_result(2, _two_parts(2, 2), _two_parts(2, 2)),
        ),
        "points of many digits": _class(
            _make_result(1, _two_parts(2 / 3, 1.234567), _two_parts(1.75, 2))
        ),
        "one student": _class(_make_result(3, _two_parts(1, 1), _two_parts(1, 1))),
        "a late submission": _class(
            _late_result(0), _make_result(1, _two_parts(2, 2), _two_parts(2, 2))
        ),
    }


LATE = "Handed in Oct 7, 2026, 12:00 CEST, 1 day after the due date."
"""The reason for the deduction in the sample of a late submission."""


def _late_result(who: int) -> Result:
    """Returns the result of a late student, with 6 of 8 points of which 1.5 are deducted."""
    taken = Deduction(points=1.5, why=LATE, late_seconds=86400.0)
    parts = _two_parts(2, 2), _two_parts(2, 0)
    return _make_result(who, *parts, score=4.5, raw_score=6.0, deduction=taken)


def exempt_class() -> ClassResults:
    """Returns a class with a student whom the course exempts, although a notebook was graded."""
    parts = _two_parts(2, 2), _two_parts(2, 0)
    return _class(_make_result(0, *parts, standing=Standing.EXEMPT), _make_result(1, *parts))


def unsettled_classes() -> dict[str, ClassResults]:
    """Returns classes with open marks."""
    some, waiting = (_two_parts(2, None), _two_parts(1.75, 0)), Standing.WAITING
    newer = _make_result(1, _two_parts(2, 0.5), _two_parts(1, 0), standing=waiting)
    return {
        "an open part": _class(_make_result(0, *some)),
        "nothing but open parts": _class(_make_result(0, *[_two_parts(None, None)] * 2)),
        "a newer submission that waits": _class(newer),
    }


def classes_without_grades() -> dict[str, ClassResults]:
    """Returns classes in which some students have no graded submission."""
    refusal = "the file is not a notebook: it is not JSON"
    missing, refused = Standing.MISSING, Standing.REFUSED
    return {
        "no submission": _class(_make_result(4, standing=missing)),
        "a submission that can't be read": _class(
            _make_result(4, standing=refused, refusal=refusal)
        ),
        "nobody handed in": _class(*(_make_result(n, standing=missing) for n in range(5))),
        "the first submission waits": _class(_make_result(4, standing=Standing.WAITING)),
        "no student at all": _class(),
    }


def hostile_classes() -> dict[str, ClassResults]:
    """Returns settled results with hostile text wherever a student's text may appear."""
    classes = {}
    for text in HOSTILE:
        trouble = CellTrouble(number=1, outcome=Outcome.FINISHED, error=text, line=1)
        run = RunSummary(sentence=f"It stopped: {text}", seconds=1.0, troubles=(trouble,))
        who = Student(id="ada", name=text, email=text, section=text)
        problems = _two_parts(2, 0.5, text), _two_parts(1.75, 0, text)
        classes[repr(text)] = _class(_make_result(0, *problems, student=who, run=run))
    return classes


def _two_parts(first: float | None, second: float | None, text: str = "28 GB") -> list[ShownPart]:
    """Returns two parts of 2 points each, with these points; None for a part that is not graded."""
    verdicts = {None: Verdict.UNSETTLED, 0.0: Verdict.INCORRECT, 2.0: Verdict.CORRECT}
    return [
        ShownPart(
            id=name,
            name=name,
            kind="numeric",
            ask="How much is it?",
            answer=text,
            verdict=verdicts.get(points, Verdict.PARTIAL),
            why=f"Read as {text}",
            look_at="Check the units.",
            points=points,
            max_points=2.0,
        )
        for name, points in (("size", first), ("why", second))
    ]


def _make_result(
    who: int, *problems: list[ShownPart], standing: Standing = Standing.GRADED, **changes: Any
) -> Result:
    """Returns the result of student number *who*, with a problem for each list of parts."""
    made = tuple(
        ShownProblem(
            number=n,
            id=f"problem-{n}",
            title=f"Title {n}",
            parts=tuple(replace(part, name=f"q{n}_{part.id}") for part in parts),
        )
        for n, parts in enumerate(problems, 1)
    )
    is_open = standing is Standing.WAITING or any(problem.unsettled for problem in made)
    fields: dict[str, Any] = {
        "student": STUDENTS[who],
        "problems": made,
        "score": round(sum(problem.points for problem in made), 6),
        "max_score": round(sum(p.max_points for p in made), 6) if made else MOST,
        "complete": bool(made) and not is_open and standing is not Standing.EXEMPT,
        "is_published": False,
        **_EXAM,
        **changes,
    }
    handed_in = standing is not Standing.MISSING
    return Result(
        feedback=Feedback(standing=standing, **fields),
        submission_sha256="0" * 64 if handed_in else None,
        submitted_at="2026-11-02T10:00:00+01:00" if handed_in else None,
        seconds=1.25,
    )


_EXAM = {"exam": "midterm", "title": "Midterm", "release": "5d41402abc4b2a76"}


def _class(*results: Result) -> ClassResults:
    return ClassResults(**_EXAM, engine="0.1.0", results=results)


def plain_quiz() -> Quiz:
    """Returns one question with one part, two options, that every system can ask."""
    return _quiz([[_make_question(_field("fits", 2.0, _choice()))]])


def quizzes() -> dict[str, Quiz]:
    """Returns quizzes by what is special about each; together they cover every form of a part."""
    number, first = _number(), _field("first", 1.0, _number(), "a")
    questions = {
        "points that are no halves": [_make_question(_field("part", 1.3, number))],
        "code alone": [_make_question(_field("code", 4.0))],
        "code beside a number": [_make_question(first, _field("code", 4.0, None, "b"))],
        "several numbers": [
            _make_question(_field("part", 3.0, number)),
            _make_question(_field("fits", 0.5, _choice())),
        ],
    }
    for name, item in _iter_forms():
        questions[name] = [_make_question(_field("part", 2.0, item))]
        second = _field("part", 2.0, item, "b")
        questions[f"{name}, beside another part"] = [_make_question(first, second)]
    return {name: _quiz([[question] for question in asked]) for name, asked in questions.items()}


def variants_quiz() -> Quiz:
    """Returns three variants of a problem at one number, as in a question pool."""
    number = _field("part", 2.0, _number())
    prompt = "A model has `{}` billion parameters."
    return _quiz([[_make_question(number, variant=n, prompt=prompt.format(n)) for n in (1, 2, 3)]])


def hostile_quizzes() -> Iterator[tuple[str, Quiz]]:
    """Yields quizzes in which every text contains something that a system may misinterpret."""
    for text in (*HOSTILE, "&#126;", "\\}", "%50%", "$\\frac{a}{b}$", "`{1: 2}`"):
        # Titles are plain text everywhere, so a tag in a title is not markup.
        title = "x" if text.startswith(("<script", "<img")) else f"x {text}"
        asked = _make_question(
            _field("fits", 2.0, _choice(text), ask=text), prompt=text, title=title
        )
        yield repr(text), _quiz([[asked]], title=title, instructions=text)


def _iter_forms() -> Iterator[tuple[str, Item]]:
    """Yields an item of each form, with its name."""
    yield "a number", _number()
    yield "a choice", _choice()
    for rule in ("all-or-nothing", "net-correct", "each-option"):
        yield f"several options, {rule}", _choice(several=True, rule=rule)
    yield (
        "pairs",
        PairsItem(things=("read", "write"), targets=("load", "store", "fence"), right=(0, 1)),
    )
    for rule in ("all-or-nothing", "pairs", "longest-run"):
        yield f"an order, {rule}", OrderItem(things=("embed", "attend", "project"), rule=rule)
    words = AcceptedTexts(texts=(SECRETS["an accepted text"],), share=1.0)
    yield "a text", TextItem(words=(words,), lost_features=("patterns in what is accepted",))
    yield "an essay", EssayItem(rubric=f"Full marks for {SECRETS['a rubric']}.")


def _number() -> NumberItem:
    """Returns an item for the secret number, with a mistake that has secret feedback."""
    key = float(SECRETS["the key"])
    told = f"Twice: {_FEEDBACK}."
    return NumberItem(
        ranges=(
            NumberRange(low=key - 0.5, high=key + 0.5, value=key, share=1.0),
            NumberRange(low=2 * key, high=2 * key + 1, value=2 * key, share=0.25, feedback=told),
        ),
        unit="GB",
        lost_features=("unit slips",),
    )


def _choice(text: str = "", *, several: bool = False, rule: str = "all-or-nothing") -> ChoiceItem:
    """Returns an item with three options, whose texts end with *text*."""
    told = text or f"{_FEEDBACK} indeed"
    return ChoiceItem(
        choices=(
            ChoiceOption(id="yes", text=f"it fits {text}", right=True, share=1.0),
            ChoiceOption(id="no", text=f"it does not {text}", right=False, feedback=told),
            ChoiceOption(id="maybe", text=f"it may {text}", right=several, feedback=told),
        ),
        several=several,
        rule=rule,
    )


def _field(
    name: str, points: float, item: Item | None = None, letter: str = "", ask: str = "How much?"
) -> QuizPart:
    """Returns a part with *item*; without one, a part with code."""
    kind = "code" if item is None else type(item).__name__
    items = () if item is None else (item,)
    return QuizPart(id=name, letter=letter, kind=kind, ask=ask, points=points, items=items)


def _make_question(*fields: QuizPart, **changes: Any) -> QuizQuestion:
    """Returns a question with the parts *fields*."""
    usual = {
        "problem": "weights",
        "title": "Weights",
        "variant": 1,
        "prompt": "A model has `7` billion parameters.",
        "given_values": (),
        "assumptions": ("1 GB is $10^9$ bytes.",),
        "solution": f"Divide, and mind the {SECRETS['the worked solution']}.",
    }
    return QuizQuestion(fields=fields, **{**usual, **changes})


def _quiz(pools: list[list[QuizQuestion]], **changes: Any) -> Quiz:
    usual = {"id": "quiz", "title": "A quiz", "instructions": "Read *well*.", "minutes": 30.0}
    made = tuple(Pool(number=n, questions=tuple(asked)) for n, asked in enumerate(pools, 1))
    return Quiz(pools=made, **{**usual, **changes})
