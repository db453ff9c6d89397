"""The conformance checks for kinds."""

from __future__ import annotations

import copy
import json
import re
from contextlib import suppress

from grader.kinds import Example, Kind, Unreadable
from grader.kinds.answers import AN_EXPLANATION
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.model import Judgment, Key, Raw, Verdict
from grader.wire import encoding


def check_kind(kind: Kind, key: Key) -> None:
    """Checks that *kind* fulfills the contract of kinds for this key.

    Raises AssertionError that names the violation. Call it with keys of several parts: small and
    large, with mistakes and without.
    """
    by_person = kind.answer(key) is None
    samples = kind.examples(key)
    _require(any(s.share == 1 for s in samples) or by_person, "no example is right")
    _require(
        any(s.share is not None and s.share < 1 for s in samples) or by_person, "none is wrong"
    )
    for sample in samples:
        _check_example(kind, key, sample, by_person=by_person)
    _check_placeholder(kind, key)
    _check_answers(kind, key, by_person=by_person)
    _check_texts(kind, key)
    _check_sheet(kind, key, samples)
    for raw in NONSENSE:
        _check_read(kind, raw, key)


# Values that only a forged kernel sends.
NONSENSE: tuple[Raw, ...] = (
    {},
    {"t": None},
    {"t": ["int"]},
    {"t": "no such thing"},
    {"t": "int"},
    {"t": "int", "v": 28},
    {"t": "int", "v": "2_8"},
    {"t": "int", "v": "9" * 5000},
    {"t": "int", "v": "0x1c"},
    {"t": "int", "digits": "many"},
    {"t": "float"},
    {"t": "float", "v": None},
    {"t": "float", "v": "28,0"},
    {"t": "float", "v": "1e999"},
    {"t": "bool", "v": "True"},
    {"t": "str"},
    {"t": "str", "v": 28},
    {"t": "str", "v": "\x00\x1b[2J\u202e28"},
    {"t": "str", "v": " \n\t "},
    {"t": "str", "v": "(" * 10_000},
    {"t": "complex"},
    {"t": "list"},
    {"t": "list", "v": None},
    {"t": "list", "v": [None, 1, [[]], {}]},
    {"t": "list", "v": [{"t": "list", "v": [{"t": "list", "v": []}]}]},
    {"t": "set", "v": [{"t": "set", "v": 1}]},
    {"t": "dict", "v": [1, [2], [3, 4], [{}, {}]]},
    {"t": "dict", "v": [[{"t": "list", "v": []}, {"t": "dict", "v": None}]]},
    {"t": "dict", "v": [[{"t": "int", "v": "9" * 5000}, {"t": "none"}]]},
    {"t": "dict", "v": [[{"t": "float", "v": "inf"}, {"t": "none"}]]},
    {"t": "array"},
    {"t": "array", "shape": "wide", "v": {}},
    {"t": "array", "shape": [2, 2], "v": None},
    {"t": "array", "shape": [1, None], "v": [[None]]},
    {"t": "object"},
    {"t": "object", "type": 3, "large": "yes"},
)


def _require(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _check_read(kind: Kind, raw: Raw, key: Key) -> tuple[object] | None:
    """Returns the value of *raw* in a tuple; None if it is unreadable. Raises AssertionError if
    reading fails in another way or changes *raw*."""
    before = copy.deepcopy(raw)
    found = None
    try:
        found = (kind.read(raw, key),)
    except Unreadable as reason:
        _require(_is_line(reason.sentence), f"{raw} is refused with {reason.sentence!r}")
    except Exception as error:
        what = f"read() raises {type(error).__name__} instead of Unreadable for {raw}: {error}"
        raise AssertionError(what) from error
    else:
        _check_judge(kind, found[0], key)
    _require(raw == before, f"read() changed {before} to {raw}")
    return found


def _check_judge(kind: Kind, value: object, key: Key) -> Judgment:
    """Returns the judgment of *value*, after checking that it is consistent."""
    judgment = kind.judge(value, key)
    _require(judgment == kind.judge(value, key), f"{value!r} is judged in two ways")
    share, verdict = judgment.share, judgment.verdict
    _require(
        (share is None) == (verdict is Verdict.UNSETTLED),
        f"{value!r} is judged {verdict}, but earns {share}",
    )
    _require(share is None or 0 <= share <= 1, f"{value!r} earns {share}")
    _require(
        (share == 1) == (verdict is Verdict.CORRECT) or judgment.mistake,
        f"{value!r} is judged {verdict}, but earns {share}",
    )
    _require(
        _is_line(kind.format_value(value, key)),
        f"format_value() gives {kind.format_value(value, key)!r}",
    )
    return judgment


def _check_example(kind: Kind, key: Key, sample: Example, *, by_person: bool) -> None:
    """Checks that *sample* earns what it declares."""
    raw = json.loads(json.dumps(sample.raw, allow_nan=False))
    found = _check_read(kind, raw, key)
    if found is None:
        _require(sample.share is None, f"{sample.why} ({raw}) is unreadable")
        return
    judgment = _check_judge(kind, found[0], key)
    if sample.share is None:
        _require(by_person and judgment.share is None, f"{sample.why} ({raw}) is readable")
        return
    _require(
        (judgment.share, judgment.mistake) == (sample.share, sample.mistake),
        f"{sample.why} ({raw}) earns {judgment.share} as {judgment.mistake}, "
        f"not {sample.share} as {sample.mistake}",
    )


def _check_placeholder(kind: Kind, key: Key) -> None:
    """Checks that the placeholder `...` is read as no answer."""
    try:
        kind.read(encoding.encode_answer(...), key)
    except Unreadable as reason:
        _require(reason.blank, "the placeholder `...` is refused, but not as blank")
    else:
        raise AssertionError("the placeholder `...` is taken for an answer")


def _check_answers(kind: Kind, key: Key, *, by_person: bool) -> None:
    """Checks that the right answer earns all points, or is left to a person."""
    answer = kind.answer(key)
    json.dumps(answer, allow_nan=False)
    if isinstance(kind, CodeKind) and isinstance(key, CodeKey):
        raw = kind.simulate_run(key, key.part.id, str(answer))
    else:
        raw = encoding.encode_answer(AN_EXPLANATION if by_person else answer)
    found = _check_read(kind, kind.ideal_raw(raw, key), key)
    if found is None:
        raise AssertionError(f"the right answer {answer!r} is unreadable")
    share = _check_judge(kind, found[0], key).share
    _require(
        share is None if by_person else share == 1, f"the right answer {answer!r} earns {share}"
    )
    kind.carry_value(found[0], key)


def _check_texts(kind: Kind, key: Key) -> None:
    """Checks that the texts of a part are not empty, and that instructions don't show the key."""
    _require(_is_line(kind.instructions(key)), f"instructions() gives {kind.instructions(key)!r}")
    _require(kind.explain(key).strip(), "explain() gives nothing")
    answer = kind.answer(key)
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return
    literal = re.compile(rf"(?<![\d.]){re.escape(repr(answer))}(?![\d.])")
    for text in (kind.instructions(key), json.dumps(kind.sheet(key))):
        _require(not literal.search(text), f"the key {answer!r} appears in {text!r}")


def _check_sheet(kind: Kind, key: Key, samples: tuple[Example, ...]) -> None:
    """Checks that answers are read and formatted in the same way from the sheet alone."""
    sheet = json.loads(json.dumps(kind.sheet(key), allow_nan=False))
    public = kind.from_sheet(sheet)
    for sample in samples:
        _require(
            _read_message(kind, sample.raw, key) == _read_message(kind, sample.raw, public),
            f"{sample.why} ({sample.raw}) is read in another way from the sheet",
        )
    # As a student may leave it: without keys, or with values of other types.
    values: tuple[object, ...] = (None, 0, "no such unit", [], [[]], [1, 2], {"a": 1})
    for broken in [{}, *({**sheet, name: value} for name in sheet for value in values)]:
        with suppress(ValueError, KeyError, TypeError):
            kind.from_sheet(broken)


def _read_message(kind: Kind, raw: Raw, key: Key) -> str:
    """Returns what the check in a notebook says about *raw*."""
    try:
        return "read as " + kind.format_value(kind.read(raw, key), key)
    except Unreadable as reason:
        return reason.sentence


def _is_line(text: str) -> bool:
    """Returns whether *text* is one nonblank line."""
    return bool(text.strip()) and len(text.splitlines()) == 1
