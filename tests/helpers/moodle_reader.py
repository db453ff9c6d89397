"""Reads Moodle XML as Moodle does, and grades an answer by Moodle's documented rules.

Written from the behaviour of Moodle's importer (qformat_xml) and of its question types; it shares
nothing with what writes the file. Answers are tried in order; tolerances are absolute.
"""

from __future__ import annotations

import html
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

# Shares of the points that Moodle knows; the importer drops a question with any other.
KNOWN = (
    *(100, 90, 83.33333, 80, 75, 70, 66.66667, 60, 50, 40, 33.33333, 30, 25, 20, 16.66667),
    *(14.28571, 12.5, 11.11111, 10, 5, 0),
)


@dataclass
class Answer:
    text: str
    share: float
    feedback: str = ""
    tolerance: float = 0.0


@dataclass
class Gap:
    """One thing to fill in, or a whole question of another type than cloze."""

    kind: str
    weight: float
    answers: list[Answer] = field(default_factory=list)
    rule: str = ""
    targets: tuple[str, ...] = ()

    def share(self, given: Any) -> float:
        if self.kind == "numerical":
            return self._number(float(given))
        if self.kind in ("shortanswer", "shortanswer_c"):
            return self._text(str(given), exact=self.kind.endswith("_c"))
        if self.kind == "single":
            return self.answers[given].share
        if self.kind == "several":
            total = sum(self.answers[i].share for i in given)
            return min(max(total, 0.0), 1.0)
        if self.kind == "matching":
            return self._matching(given)
        assert self.kind == "ordering"
        return self._ordering(given)

    def _number(self, given: float) -> float:
        for answer in self.answers:
            value = float(answer.text)
            width = abs(answer.tolerance) + 1e-14 * max(1.0, abs(value))
            if value - width <= given <= value + width:
                return answer.share
        return 0.0

    def _text(self, given: str, *, exact: bool) -> float:
        given = unicodedata.normalize("NFC", given.strip())
        for answer in self.answers:
            pieces = re.split(r"(?<!\\)\*+", unicodedata.normalize("NFC", answer.text))
            pattern = ".*".join(re.escape(piece.replace(r"\*", "*")) for piece in pieces)
            if re.fullmatch(pattern, given, 0 if exact else re.IGNORECASE):
                return answer.share
        return 0.0

    def _matching(self, given: Sequence[str]) -> float:
        things = [answer for answer in self.answers if answer.text]
        right = sum(a.feedback == chosen for a, chosen in zip(things, given, strict=True))
        return right / len(things)

    def _ordering(self, given: Sequence[int]) -> float:
        if self.rule == "ALL_OR_NOTHING":
            return float(list(given) == sorted(given))
        assert self.rule == "RELATIVE_ALL_PREVIOUS_AND_NEXT"
        pairs = list(combinations(given, 2))
        return sum(a < b for a, b in pairs) / len(pairs)


@dataclass
class Question:
    type: str
    name: str
    text: str
    """HTML; gaps are written {#1}, {#2} and so on."""
    mark: float
    gaps: list[Gap]
    feedback: str
    idnumber: str
    rubric: str = ""


@dataclass
class Category:
    path: list[str]
    info: str
    questions: list[Question] = field(default_factory=list)


def read(data: bytes) -> list[Category]:
    """The categories of a file in order, with their questions."""
    root = ET.fromstring(data)
    assert root.tag == "quiz"
    found: list[Category] = []
    for element in root:
        assert element.tag == "question"
        if element.get("type") == "category":
            path = [
                part.replace("\0", "/")
                for part in (element.findtext("category/text") or "").replace("//", "\0").split("/")
            ]
            assert path[0] == "$course$"
            found.append(Category(path=path[1:], info=element.findtext("info/text") or ""))
        else:
            found[-1].questions.append(_question(element))
    return found


def _text(element: ET.Element, path: str) -> str:
    return (element.findtext(f"{path}/text") or "").strip()


def _question(element: ET.Element) -> Question:
    kind = element.get("type") or ""
    text = _text(element, "questiontext")
    assert _text(element, "name")
    if kind == "cloze":
        text, gaps = gaps_of(text)
        assert gaps, "Moodle refuses a cloze without gaps"
        mark = sum(gap.weight for gap in gaps)
    else:
        mark = float(element.findtext("defaultgrade") or 1)
        gaps = [] if kind == "essay" else [_gap(kind, element)]
    return Question(
        type=kind,
        name=_text(element, "name"),
        text=text,
        mark=mark,
        gaps=gaps,
        feedback=_text(element, "generalfeedback"),
        idnumber=element.findtext("idnumber") or "",
        rubric=_text(element, "graderinfo"),
    )


def _gap(kind: str, element: ET.Element) -> Gap:
    answers = [
        Answer(
            text=_text(answer, "."),
            share=float(answer.get("fraction") or 0) / 100,
            feedback=_text(answer, "feedback"),
            tolerance=float(answer.findtext("tolerance") or 0),
        )
        for answer in element.findall("answer")
    ]
    if kind in ("numerical", "multichoice", "shortanswer"):
        for answer in answers:
            assert any(abs(abs(answer.share) - known / 100) < 1e-5 for known in KNOWN)
    if kind == "multichoice":
        several = element.findtext("single") == "false"
        return Gap("several" if several else "single", 1.0, answers)
    if kind == "truefalse":
        assert [answer.text for answer in answers] == ["true", "false"]
        return Gap("single", 1.0, [Answer(a.text, float(a.share == 1)) for a in answers])
    if kind == "shortanswer":
        exact = element.findtext("usecase") == "1"
        return Gap("shortanswer_c" if exact else "shortanswer", 1.0, answers)
    if kind == "matching":
        pairs = [
            Answer(_text(one, "."), 0.0, feedback=_text(one, "answer"))
            for one in element.findall("subquestion")
        ]
        assert len([p for p in pairs if p.text]) >= 1
        return Gap("matching", 1.0, pairs, targets=tuple(p.feedback for p in pairs))
    if kind == "ordering":
        places = [int(answer.get("fraction") or 0) for answer in element.findall("answer")]
        assert places == list(range(1, len(places) + 1))
        return Gap("ordering", 1.0, answers, rule=element.findtext("gradingtype") or "")
    assert kind == "numerical", kind
    return Gap("numerical", 1.0, answers)


_TYPES = {
    "NM": "numerical",
    "SA": "shortanswer",
    "SAC": "shortanswer_c",
    **dict.fromkeys(("MC", "MCV", "MCVS"), "single"),
    **dict.fromkeys(("MR", "MRS"), "several"),
}
_START = re.compile(r"\{(\d*):([A-Z_]+):")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def gaps_of(text: str) -> tuple[str, list[Gap]]:
    """A cloze's text with its gaps numbered, and the gaps."""
    gaps: list[Gap] = []
    kept, rest = "", text
    while found := _START.search(rest):
        kept += rest[: found.start()]
        pieces, rest = _pieces(rest[found.end() :])
        gaps.append(_cloze(found[1], found[2], pieces))
        kept += f"{{#{len(gaps)}}}"
    whole = kept + rest
    places = [int(number) for number in re.findall(r"\{#(\d+)\}", whole)]
    assert places == list(range(1, len(gaps) + 1)), "Moodle would take something else for a gap"
    return whole, gaps


def _pieces(rest: str) -> tuple[list[str], str]:
    """Answers up to the brace that closes a gap; a backslash in front takes a sign's meaning."""
    pieces, start = [], 0
    for at, sign in enumerate(rest):
        if sign in "~}" and (at == 0 or rest[at - 1] != "\\"):
            pieces.append(rest[start:at])
            start = at + 1
            if sign == "}":
                return pieces, rest[at + 1 :]
    raise AssertionError("a gap without an end")


def _cloze(weight: str, code: str, pieces: list[str]) -> Gap:
    kind = _TYPES[code]
    answers = [_alternative(piece, kind) for piece in pieces]
    if kind == "several":
        total = sum(a.share for a in answers if a.share > 0)
        assert total > 0, "Moodle refuses it: no fraction is positive"
        for answer in answers:
            answer.share = answer.share / total if answer.share > 0 else answer.share
    else:
        assert any(a.share == 1 for a in answers), "Moodle refuses it: no answer is right"
    assert len(answers) > 1 or kind in ("numerical", "shortanswer", "shortanswer_c")
    return Gap(kind, float(weight or 1), answers)


def _alternative(piece: str, kind: str) -> Answer:
    share = 0.0
    if piece.startswith("="):
        share, piece = 1.0, piece[1:]
    elif percent := re.match(r"%(-?\d+(?:\.\d*)?)%", piece):
        share, piece = float(percent[1]) / 100, piece[percent.end() :]
    parts = re.split(r"(?<!\\)#", piece, maxsplit=1)
    text, feedback = _resolved(parts[0]), _resolved(parts[1]) if len(parts) > 1 else ""
    assert text.strip(), "Moodle overlooks an empty answer"
    if kind == "numerical":
        value, _, width = text.partition(":")
        assert _NUMBER.fullmatch(value), value
        assert _NUMBER.fullmatch(width), width
        return Answer(value, share, feedback, float(width))
    return Answer(text, share, feedback)


def _resolved(text: str) -> str:
    return html.unescape(text).replace(r"\}", "}").replace(r"\#", "#")
