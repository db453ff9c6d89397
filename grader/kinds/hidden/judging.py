"""Compares the results of a student's calls with the expected ones.

What a student may read about a call is little: the code knows hidden inputs and could put them into
an exception's name or text. So only well-known names and names in our own sources are shown, and
of a message only the words from our sources.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from grader.kinds.attempts import Code, CodeAnswer, CodeKey
from grader.kinds.base import CORRECT, partial_judgment
from grader.kinds.hidden import compare
from grader.kinds.hidden.kept_cases import HiddenCase, names_in
from grader.kinds.hidden.source import FAILED_BEFORE, UNDEFINED
from grader.model import Call, CallPlan, Judgment, Verdict
from grader.model.grouping import group_by_key
from grader.wire.encoding import REASONS, RESULT, TOO_MUCH, UnfitError
from grader.wire.values import UnknownError, decode_result
from grader.wire.watch import LOOPS


def find_broken_rule(value: CodeAnswer, part: Code) -> str | None:
    """Returns the forbidden name that the code certainly uses, with the evidence, or None."""
    if value.review.broken_rule is not None:
        return f"{value.review.broken_rule}, but the code uses it"
    used = _observed_names(value, "used")
    broken = [rule for rule in part.forbid if rule != LOOPS and rule in used]
    return f"`{broken[0]}`, but the code used it at run time" if broken else None


def find_doubt(value: CodeAnswer, part: Code, *, earns: bool) -> str | None:
    """Returns why it is unclear whether the code uses what the part forbids; None if it is clear.

    Python code can hide what it calls. If its text is inconclusive and the code *earns* points, a
    person reads it.
    """
    if not part.forbid:
        return None
    if any(call["is"] == "unmade" and call.get("what") == UNDEFINED for call in value.calls):
        return UNDEFINED
    return next(_iter_doubts(value, part), None) if earns else None


def _iter_doubts(value: CodeAnswer, part: Code) -> Iterator[str]:
    """Yields each reason why it is unclear whether the code uses what the part forbids."""
    if value.why_unanalyzed:
        yield f"its code could not be analyzed: {value.why_unanalyzed}"
    if value.review.doubt is not None:
        yield value.review.doubt
    if LOOPS in part.forbid and LOOPS in _observed_names(value, "used"):
        yield "one of its functions was called many times in a single call, as in a loop"
    reached = _observed_names(value, "reached")
    yield from (f"one of its names refers to `{rule}`" for rule in part.forbid if rule in reached)


def _observed_names(value: CodeAnswer, field: str) -> set[str]:
    """Returns the names in *field* of the calls, which come from the student's process."""
    reports = (call.get(field) for call in value.calls)
    lists = (report for report in reports if isinstance(report, list))
    return {name for names in lists for name in names if isinstance(name, str)}


class _UndecidedError(Exception):
    """A limit of the grader, named by the message, makes it impossible to judge a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRun:
    """One hidden case, and what the student's code did. **Secret.**"""

    case: HiddenCase
    call: Mapping[str, object]
    """What the kernel reported."""
    want: Mapping[str, object]
    fault: str
    """Why the case fails or stays open; empty if it passes."""


class CaseResults:
    """The judged results of the hidden cases. Raises LookupError if some of them are missing."""

    def __init__(self, value: CodeAnswer, key: CodeKey):
        self._key = key
        reports = group_by_key((call.get("call"), call) for call in value.calls)
        plan = key.call_plan(key.part.id)
        calls = [reports[digest].pop(0) for digest in plan.digests]  # IndexError if missing
        self._examples = calls[: len(key.examples)]
        self._why: dict[str, str | None] = {}
        self._open: dict[str, str] = {}
        self.runs: list[CaseRun] = []
        """Each hidden case in the order of the calls. **Secret.**"""
        calls = calls[len(key.examples) :]
        for case, call, want in zip(key.cases, calls, key.expected_results, strict=True):
            why, doubt = None, None
            try:
                why = self._find_case_fault(case, call, want)
            except _UndecidedError as error:
                doubt = str(error)
                self._open.setdefault(case.group, doubt)
            self.runs.append(CaseRun(case=case, call=call, want=want, fault=why or doubt or ""))
            self._why[case.group] = self._why.get(case.group) or why
        # One failing case is enough to fail its group.
        self._open = {g: why for g, why in self._open.items() if self._why[g] is None}

    def judgment(self) -> Judgment:
        """Returns the points that the passing groups earn, and why the others fail."""
        part = self._key.part
        weights = _group_weights(part, tuple(self._why))
        passed = {g for g, why in self._why.items() if why is None and g not in self._open}
        lost = part.all_or_nothing and any(self._why.values())
        if self._open and not lost:
            notes = (f"{_capitalize(group)} cases: {why}." for group, why in self._open.items())
            return partial_judgment(None, " ".join([*notes, "A person will review it."]))
        if len(passed) == len(self._why):
            return CORRECT
        earned = 0.0 if part.all_or_nothing else sum(weights[group] for group in passed)
        verdicts = {g: Verdict.CORRECT if g in passed else Verdict.INCORRECT for g in self._why}
        return partial_judgment(
            round(earned, 6),
            " ".join(self._iter_notes(len(passed))),
            cells={f"{group} cases": verdict.value for group, verdict in verdicts.items()},
        )

    def _iter_notes(self, passed: int) -> Iterator[str]:
        """Yields the sentences of the feedback, given how many groups *passed*."""
        verb = "passes" if passed == 1 else "pass"
        yield f"{passed} of {len(self._why)} groups of hidden cases {verb}."
        # Only counts: by now the code may know another part's hidden inputs and could leak them.
        missed = [check_example(call, self._key) is not None for call in self._examples]
        if any(missed):
            yield f"{missed.count(False)} of {len(missed)} visible examples pass."
        for group, why in self._why.items():
            if why is not None:
                yield f"{_capitalize(group)} cases: {why}."

    def _find_case_fault(
        self, case: HiddenCase, call: Mapping[str, object], want: Mapping[str, object]
    ) -> str | None:
        """Returns why the case fails, without revealing its inputs; None if it passes."""
        if call["is"] != "returned":
            right = "raises" in want and _is_raised(call, str(want["raises"]))
            trouble = _describe_failure(call, self._key)
            if _may_hide_right_result(call, want):
                raise _UndecidedError(trouble)
            return None if right else trouble
        why = self._find_result_fault(case, call, want)
        return why and (f"when called again with the same inputs, {why}" if case.again else why)

    def _find_result_fault(
        self, case: HiddenCase, call: Mapping[str, object], want: Mapping[str, object]
    ) -> str | None:
        """Returns how the returned value differs from the expected one; None if it does not."""
        if "raises" in want:
            return f"{want['raises']} should have been raised"
        if call.get("changed") and not self._key.part.mutates:
            return "an input was changed in place"
        raw = call.get("v")
        why = None
        # A result that is encoded like the expected one need not be decoded.
        if "value" not in want or raw != want["value"]:
            try:
                got = decode_result(raw)
            except UnknownError as error:
                raise _UndecidedError(f"the result can't be read: {error}") from None
            except ValueError:
                return "the result could not be read"
            if "value" in want:
                why = compare.difference(got, decode_result(want["value"]), case.near)
        if why is None and isinstance(raw, dict):
            why = self._key.find_broken_property(case, raw, want)
        texts = (self._key.part.driver, *self._key.tools, self._key.draw.solution)
        return why and compare.hide_unknown_keys(why, names_in(texts))


def _capitalize(group: str) -> str:
    """Returns the name of a group with a capital first letter, and the rest as it is."""
    return group[:1].upper() + group[1:]


_GIVE_UP = ("TooManyStatesError", "RankHungError")


def _may_hide_right_result(call: Mapping[str, object], want: Mapping[str, object]) -> bool:
    """Returns whether a limit of the grader is the only reason why a call has no result.

    Expected results stay within all limits, so a correct result has the same nesting and number of
    items. But its arrays may need more bytes, and earlier results may have left no room for it.
    """
    if call["is"] == "unmade":
        return call.get("what") != FAILED_BEFORE
    if call["is"] == "raised":
        # One of the tools may have given up on code that is right.
        is_slow = str(call.get("what")).endswith("take too long here")
        return call.get("type") in _GIVE_UP or (call.get("type") == "LaunchError" and is_slow)
    if call["is"] != "unfit" or "raises" in want:
        return False
    if "form" in want or call.get("type") != UnfitError.__name__:
        return True
    most_bytes = compare.WIDEST * compare.count_numbers(decode_result(want["value"]))
    return call.get("what") == TOO_MUCH and most_bytes > RESULT.size


def _is_raised(call: Mapping[str, object], wanted: str) -> bool:
    """Returns whether a call raised the exception named *wanted* or a subclass of it."""
    above = call.get("above")
    types = (call.get("type"), *(above if isinstance(above, list) else ()))
    return call["is"] == "raised" and wanted in types


def _group_weights(part: Code, groups: tuple[str, ...]) -> Mapping[str, float]:
    """Returns the share of the points per group. Raises ValueError if the part names others."""
    if not part.groups:
        return dict.fromkeys(groups, 1 / len(groups))
    if set(part.groups) != set(groups):
        names = ", ".join(sorted(groups))
        raise ValueError(f"'groups' must name the groups of the hidden cases: {names}")
    return {group: value / sum(part.groups.values()) for group, value in part.groups.items()}


def _describe_failure(call: Mapping[str, object], key: CodeKey) -> str:
    """Returns why a call returned nothing, without any text that the student's code controls."""
    match call["is"]:
        case "raised":
            # Not the line: code that knows a hidden input could reveal it by where it raises.
            kind, message = describe_exception(
                call.get("type"), call.get("what"), (*key.tools, key.part.driver)
            )
            return f"{kind} was raised" + (f": {message}" if message else "")
        case "unfit":
            why = call.get("what")
            return f"the result can't be read: {why if why in REASONS else TOO_MUCH}"
        case "late":
            return f"a call took longer than {key.part.seconds:g} s"
        case "died":
            return f"a call {str(call.get('what')).partition(' (')[0]}"  # no exit status
        case "unmade":
            return f"not called, because {call.get('what')}"
    return "the result could not be read"


def check_example(call: Mapping[str, object], key: CodeKey) -> str | None:
    """Returns how a visible example failed; None if it passed."""
    digests = CallPlan(
        name="", alias="", tools=key.tools, driver=key.part.driver,
        calls=tuple(Call(example=example) for example in key.examples),
    ).digests  # fmt: skip
    texts = dict(zip(digests, key.examples, strict=True)).get(str(call.get("call")))
    if texts is None:
        return "it was not run"
    named = f"`{' '.join(texts[0].split())}`"
    if call["is"] == "raised":
        return f"{named} raises {call.get('type')}: {call.get('what')}"
    if call["is"] != "returned":
        return f"{named}: {_describe_failure(call, key)}"
    try:
        match decode_result(call.get("v")):
            case [got, want]:
                why = compare.difference(got, want, key.part.closeness)
                return why and f"{named} gives {compare.format_result(got)}: {why}"
    except ValueError:
        pass
    return f"{named}: the result could not be read"


_ANOTHER = "an exception of another type"
_LIBRARIES = ("LinAlgError", "AxisError", "OutOfMemoryError", "JSONDecodeError", "CancelledError")
_USUAL = frozenset(
    [
        *(n for n, one in vars(builtins).items() if isinstance(one, type) and "Error" in n),
        *("StopIteration", "StopAsyncIteration", "SystemExit", "Exception", *_LIBRARIES),
    ]
)
_LONGEST = 300


def describe_exception(kind: object, what: object, sources: tuple[str, ...]) -> tuple[str, str]:
    """Returns what a student may read about an exception: its type, and the words of its message.

    The type is only named if it is well known or defined in *sources*, the code of the driver and
    its tools. The words are empty unless the message comes from there.
    """
    names, known_messages = _known_errors_in(sources)
    if not isinstance(kind, str) or kind not in _USUAL | names:
        return _ANOTHER, ""
    if not isinstance(what, str) or len(what) > _LONGEST:
        return kind, ""
    messages = ((form, words) for name, form, words in known_messages if name == kind)
    return kind, next((words for form, words in messages if form.fullmatch(what)), "")


@lru_cache(maxsize=64)
def _known_errors_in(
    sources: tuple[str, ...],
) -> tuple[frozenset[str], tuple[tuple[str, re.Pattern[str], str], ...]]:
    """Returns the names of the classes that *sources* define, and the messages that they raise."""
    nodes = [node for text in sources for node in ast.walk(ast.parse(text))]
    names = frozenset(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return names, tuple(message for node in nodes for message in _iter_messages(node))


def _iter_messages(node: ast.AST) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yields the exception, the pattern, and the words of a message that *node* raises, if any."""
    if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
        return
    function, message = node.exc.func, node.exc.args[0]
    pieces = message.values if isinstance(message, ast.JoinedStr) else [message]
    texts = [p.value if isinstance(p, ast.Constant) else None for p in pieces]
    if isinstance(function, ast.Name) and any(isinstance(text, str) for text in texts):
        form = "".join(".*" if text is None else re.escape(str(text)) for text in texts)
        words = "".join("…" if text is None else str(text) for text in texts)
        yield function.id, re.compile(form, re.S), words
