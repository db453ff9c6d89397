"""Reads a QTI 1.2 package as Canvas does, and grades an answer by Canvas's documented rules.

Written from the behaviour of Canvas's importer and of its classic quizzes; it shares nothing with
what writes the file. Any answer with a score counts as wholly right there.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
CANVAS = "{http://canvas.instructure.com/xsd/cccv1p0}"
PACKAGE = "{http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1}"

# What may stand in each element, in which order, by the DTD of QTI 1.2: as far as it is used here.
GRAMMAR: Mapping[str, str] = {
    "questestinterop": "assessment",
    "assessment": "(qtimetadata )*(section )+",
    "section": "(qtimetadata )*(selection_ordering )?((item|section) )*",
    "selection_ordering": "(selection )*",
    "selection": "(sourcebank_ref )?(selection_number )?(selection_extension )?",
    "item": "(itemmetadata )?(presentation )?(resprocessing )*(itemfeedback )*",
    "itemmetadata": "(qtimetadata )*",
    "qtimetadata": "(qtimetadatafield )+",
    "qtimetadatafield": "fieldlabel fieldentry",
    "presentation": "((material|response_lid|response_str) )+",
    "material": "(mattext )+",
    "response_lid": "(material )?render_choice( material)?",
    "response_str": "(material )?render_fib( material)?",
    "render_choice": "(response_label )*",
    "render_fib": "(response_label )*",
    "response_label": "(material )*",
    "resprocessing": "outcomes (respcondition )+",
    "outcomes": "(decvar )+",
    "respcondition": "conditionvar (setvar )*(displayfeedback )*",
    "conditionvar": "((and|or|not|other|varequal|vargte|varlte) )+",
    "and": "((and|or|not|varequal|vargte|varlte) )+",
    "or": "((and|or|not|varequal|vargte|varlte) )+",
    "not": "(and|or|varequal|vargte|varlte)",
    "itemfeedback": "(flow_mat|material)",
    "flow_mat": "(material )+",
}
TEXTS = {
    *("fieldlabel", "fieldentry", "mattext", "decvar", "setvar", "varequal", "vargte", "varlte"),
    *("other", "displayfeedback", "selection_number"),
}
NEEDED = {
    "assessment": {"ident", "title"},
    "section": {"ident"},
    "item": {"ident"},
    "response_lid": {"ident"},
    "response_str": {"ident"},
    "response_label": {"ident"},
    "varequal": {"respident"},
    "vargte": {"respident"},
    "varlte": {"respident"},
    "itemfeedback": {"ident"},
    "displayfeedback": {"linkrefid"},
}


def check(element: ET.Element) -> None:
    """Nothing, if the element is QTI 1.2; AssertionError otherwise."""
    assert element.tag.startswith(QTI), element.tag
    name = element.tag.removeprefix(QTI)
    if name == "selection_extension":  # may hold anything
        return
    children = [child.tag.removeprefix(QTI) for child in element]
    if name in TEXTS:
        assert not children, name
    else:
        written = " ".join(children)
        assert re.fullmatch(GRAMMAR[name], written) or re.fullmatch(GRAMMAR[name], written + " "), (
            f"{name} holds {written}"
        )
        assert not (element.text or "").strip(), name
    assert NEEDED.get(name, set()) <= set(element.keys()), name
    for child in element:
        check(child)


@dataclass
class Item:
    ident: str
    title: str
    type: str
    points: float
    text: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    matches: dict[str, str] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    def share(self, given: object) -> float:
        """What Canvas gives: a number, the index of a choice, a set of them, targets, a text."""
        if self.type == "numerical_question":
            return float(any(_numeric(a, Decimal(str(given))) for a in self.answers))
        if self.type in ("multiple_choice_question", "true_false_question"):
            return float(bool(self.answers[given]["weight"]))  # type: ignore[call-overload]
        if self.type == "multiple_answers_question":
            return self._several(given)  # type: ignore[arg-type]
        if self.type == "matching_question":
            return self._matching(given)  # type: ignore[arg-type]
        assert self.type == "short_answer_question", self.type
        written = str(given).strip().lower()
        return float(any(str(a["text"]).strip().lower() == written for a in self.answers))

    def _several(self, given: Collection[int]) -> float:
        rights = sum(bool(a["weight"]) for a in self.answers)
        right = sum(bool(self.answers[i]["weight"]) for i in given)
        return max(0.0, (right - (len(given) - right)) / rights)

    def _matching(self, given: Sequence[str]) -> float:
        right = sum(
            self.matches[str(a["match"])] == chosen
            for a, chosen in zip(self.answers, given, strict=True)
        )
        return right / len(self.answers)


def _numeric(answer: dict[str, Any], given: Decimal) -> bool:
    if "exact" in answer:
        exact, margin = Decimal(str(answer["exact"])), Decimal(str(answer["margin"]))
        return exact - margin <= given <= exact + margin
    return Decimal(str(answer["start"])) <= given <= Decimal(str(answer["end"]))


@dataclass
class Group:
    title: str
    points: float
    items: list[Item]


@dataclass
class Package:
    title: str
    description: str
    points: float
    entries: list[Item | Group]
    metadata: dict[str, str]


def read(data: bytes) -> Package:
    """The quiz in a package; everything that Canvas would silently stumble over is an error."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {n: archive.read(n) for n in archive.namelist() if not n.endswith("/")}
    manifest = ET.fromstring(files.pop("imsmanifest.xml"))
    resources = {r.get("identifier"): r for r in manifest.iter(f"{PACKAGE}resource")}
    listed = {f.get("href") for r in resources.values() for f in r.iter(f"{PACKAGE}file")}
    assert listed == set(files)
    (quiz,) = (r for r in resources.values() if r.get("type") == "imsqti_xmlv1p2")
    dependency = quiz.find(f"{PACKAGE}dependency")
    assert dependency is not None
    about = resources[dependency.get("identifierref")]
    meta = ET.fromstring(files[about.get("href") or ""])
    assert meta.tag == f"{CANVAS}quiz"
    file = quiz.find(f"{PACKAGE}file")
    assert file is not None
    root = ET.fromstring(files[file.get("href") or ""])
    check(root)
    assessment = root[0]
    assert assessment.get("ident") == meta.get("identifier") == quiz.get("identifier")
    idents = [e.get("ident") for e in root.iter(f"{QTI}item")]
    idents += [e.get("ident") for e in root.iter(f"{QTI}section")]
    assert len(set(idents)) == len(idents)
    (section,) = assessment.findall(f"{QTI}section")
    return Package(
        title=assessment.get("title") or "",
        description=meta.findtext(f"{CANVAS}description") or "",
        points=float(meta.findtext(f"{CANVAS}points_possible") or 0),
        entries=[_entry(e) for e in section],
        metadata={e.tag.removeprefix(CANVAS): e.text or "" for e in meta},
    )


def _entry(element: ET.Element) -> Item | Group:
    if element.tag == f"{QTI}item":
        return _item(element)
    assert element.findtext(f".//{QTI}selection_number") == "1"
    return Group(
        title=element.get("title") or "",
        points=float(element.findtext(f".//{QTI}points_per_item") or 0),
        items=[_item(item) for item in element.findall(f"{QTI}item")],
    )


def _item(element: ET.Element) -> Item:
    fields = {
        f.findtext(f"{QTI}fieldlabel"): f.findtext(f"{QTI}fieldentry") or ""
        for f in element.iter(f"{QTI}qtimetadatafield")
    }
    presentation = element.find(f"{QTI}presentation")
    assert presentation is not None
    item = Item(
        ident=element.get("ident") or "",
        title=element.get("title") or "",
        type=str(fields["question_type"]),
        points=float(fields["points_possible"]),
        text=presentation.findtext(f"{QTI}material/{QTI}mattext") or "",
        comments={
            str(f.get("ident")): f.findtext(f".//{QTI}mattext") or ""
            for f in element.findall(f"{QTI}itemfeedback")
        },
    )
    scored = [c for c in element.iter(f"{QTI}respcondition") if c.find(f"{QTI}setvar") is not None]
    if item.type == "numerical_question":
        item.answers = [_numeric_answer(c) for c in scored]
    elif item.type == "matching_question":
        _matches(item, presentation, scored)
    elif item.type == "short_answer_question":
        item.answers = [{"text": v.text or ""} for c in scored for v in c.iter(f"{QTI}varequal")]
    elif item.type != "essay_question":
        _choices(item, presentation, scored)
    ids = [i for i in fields["original_answer_ids"].split(",") if i]
    assert len(ids) == len(item.answers)
    assert all(i.isdigit() for i in ids)
    shown = {str(d.get("linkrefid")) for d in element.iter(f"{QTI}displayfeedback")}
    assert shown == set(item.comments)
    return item


def _numeric_answer(condition: ET.Element) -> dict[str, Any]:
    low = condition.findtext(f".//{QTI}vargte")
    high = condition.findtext(f".//{QTI}varlte")
    exact = condition.find(f".//{QTI}or/{QTI}varequal")
    if exact is None:
        return {"start": float(str(low)), "end": float(str(high))}
    margin = float(Decimal(str(high)) - Decimal(str(exact.text)))
    return {"exact": float(str(exact.text)), "margin": margin}


def _choices(item: Item, presentation: ET.Element, scored: list[ET.Element]) -> None:
    (condition,) = scored
    rights = {v.text for v in condition.iter(f"{QTI}varequal")}
    rights -= {v.text for n in condition.iter(f"{QTI}not") for v in n.iter(f"{QTI}varequal")}
    for label in presentation.iter(f"{QTI}response_label"):
        ident = label.get("ident")
        text = label.findtext(f".//{QTI}mattext") or ""
        item.answers.append({"id": ident, "text": text, "weight": 100 * (ident in rights)})
    assert any(a["weight"] for a in item.answers), "Canvas finds no right answer"
    if item.type == "true_false_question":
        assert [re.sub("<.*?>", "", str(a["text"])) for a in item.answers] == ["True", "False"]


def _matches(item: Item, presentation: ET.Element, scored: list[ET.Element]) -> None:
    pairs = {}
    for condition in scored:
        (equal,) = condition.iter(f"{QTI}varequal")
        pairs[equal.get("respident")] = equal.text
    for response in presentation.findall(f"{QTI}response_lid"):
        text = response.findtext(f"{QTI}material/{QTI}mattext") or ""
        for label in response.iter(f"{QTI}response_label"):
            ident = str(label.get("ident"))
            assert ident.isdigit()
            item.matches[ident] = label.findtext(f".//{QTI}mattext") or ""
        item.answers.append({"text": text, "match": pairs[response.get("ident")]})
