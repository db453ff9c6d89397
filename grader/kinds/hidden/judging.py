"""Compares the results of a student's calls with the expected ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grader.kinds.attempts import Code, CodeAnswer, CodeKey
from grader.kinds.hidden import pins, raised
from grader.kinds.hidden.compare import (
    WIDEST,
    count_numbers,
    difference,
    format_result,
    hide_unknown_keys,
)
from grader.kinds.hidden.pins import ExpectedError, ExpectedProperties, HiddenCase
from grader.kinds.hidden.source import FAILED_BEFORE
from grader.model import Call, CallPlan, Judgement, Verdict
from grader.wire import trial
from grader.wire.values import UnknownError, decode_result


class _UndecidedError(Exception):
    """A limit of the grader makes it impossible to tell whether a case passes; the message names
    it."""


class CaseResults:
    """The results of the hidden cases compared with the expected ones."""

    def __init__(self, value: CodeAnswer, key: CodeKey):
        self._key = key
        said: dict[object, list[Mapping[str, object]]] = {}
        for call in value.calls:
            said.setdefault(call.get("call"), []).append(call)
        trial = key.trial(key.part.id)
        made = [said[digest].pop(0) for digest in trial.digests]  # IndexError if missing
        self._examples = made[: len(key.examples)]
        self._why: dict[str, str | None] = {}
        self._open: dict[str, str] = {}
        made = made[len(key.examples) :]
        for case, call, want in zip(key.cases, made, key.expected, strict=True):
            why = None
            try:
                why = self._case_fault(case, call, want)
            except _UndecidedError as error:
                self._open.setdefault(case.group, str(error))
            self._why[case.group] = self._why.get(case.group) or why
        # One failing case is enough to fail its group.
        self._open = {g: why for g, why in self._open.items() if self._why[g] is None}

    def judgement(self) -> Judgement:
        """The points that the passing groups earn, and why the others fail."""
        part = self._key.part
        weights = _weights(part, tuple(self._why))
        passed = {g for g, why in self._why.items() if why is None and g not in self._open}
        lost = part.all_or_nothing and any(self._why.values())
        if self._open and not lost:
            notes = (f"{group.capitalize()} cases: {why}." for group, why in self._open.items())
            note = " ".join([*notes, "A person will review it."])
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)
        earned = sum(weights[group] for group in passed)
        if len(passed) == len(self._why):
            return Judgement(share=1.0, verdict=Verdict.CORRECT)
        if part.all_or_nothing:
            earned = 0.0
        labels = {
            group: Verdict.CORRECT if group in passed else Verdict.INCORRECT for group in self._why
        }
        return Judgement(
            share=round(earned, 6),
            verdict=Verdict.PARTIAL if earned > 0 else Verdict.INCORRECT,
            note=" ".join(self._notes(len(passed))),
            cells={f"{group} cases": verdict.value for group, verdict in labels.items()},
        )

    def _notes(self, passed: int) -> Iterator[str]:
        yield f"{passed} of {len(self._why)} groups of hidden cases pass."
        # Only counts: by now the code may know another part's hidden inputs and could leak them.
        missed = [example_fault(call, self._key) is not None for call in self._examples]
        if any(missed):
            yield f"{missed.count(False)} of {len(missed)} visible examples pass."
        for group, why in self._why.items():
            if why is not None:
                yield f"{group.capitalize()} cases: {why}."

    def _case_fault(self, case: HiddenCase, call: Mapping[str, object], want: object) -> str | None:
        """Returns why the case fails, without revealing its inputs; None if it passes."""
        if call["is"] != "returned":
            right = isinstance(want, ExpectedError) and _is_raised(call, want.type)
            trouble = _failure_in_words(call, self._key)
            if _may_hide_right_result(call, want):
                raise _UndecidedError(trouble)
            return None if right else trouble
        why = self._result_fault(case, call, want)
        return why and (f"when called again with the same inputs, {why}" if case.again else why)

    def _result_fault(
        self, case: HiddenCase, call: Mapping[str, object], want: object
    ) -> str | None:
        """Returns how the returned value differs from the expected one; None if it does not."""
        if isinstance(want, ExpectedError):
            return f"{want.type} should have been raised"
        if call.get("changed") and not self._key.part.mutates:
            return "an input was changed in place"
        raw = call.get("v")
        try:
            got = decode_result(raw)
        except UnknownError as error:
            raise _UndecidedError(f"the result can't be read: {error}") from None
        except ValueError:
            return "the result could not be read"
        why = None if isinstance(want, ExpectedProperties) else difference(got, want, case.near)
        if why is None and isinstance(raw, dict):
            why = self._key.find_broken_property(case, raw, want)
        texts = (self._key.part.driver, *self._key.tools, self._key.draw.solution)
        return why and hide_unknown_keys(why, pins.names_in(texts))


def _may_hide_right_result(call: Mapping[str, object], want: object) -> bool:
    """Returns whether a limit of the grader is the only reason why a call has no result.

    Expected results stay within all limits, so a correct result has the same nesting and number of
    items. But its arrays may need more bytes, and earlier results may have left no room for it.
    """
    if call["is"] == "unmade":
        return call.get("what") != FAILED_BEFORE
    if call["is"] == "raised":
        return _is_tool_limit(call)
    if call["is"] != "unfit" or isinstance(want, ExpectedError):
        return False
    if isinstance(want, ExpectedProperties) or call.get("type") != trial.UnfitError.__name__:
        return True
    most = WIDEST * count_numbers(want)
    return call.get("what") == trial.TOO_MUCH and most > trial.MAX_BYTES


def _is_tool_limit(call: Mapping[str, object]) -> bool:
    """Returns whether one of the tools gave up on code that may be right."""
    said = call.get("what")
    return call.get("type") in _GIVE_UP or (
        call.get("type") == "LaunchError" and str(said).endswith("take too long here")
    )


_GIVE_UP = ("TooManyStatesError", "RankHungError")


def _is_raised(call: Mapping[str, object], wanted: str) -> bool:
    """Returns whether a call raised the exception named *wanted* or a subclass of it."""
    above = call.get("above")
    types = (call.get("type"), *(above if isinstance(above, list) else ()))
    return call["is"] == "raised" and wanted in types


def _weights(part: Code, groups: tuple[str, ...]) -> Mapping[str, float]:
    if not part.groups:
        return dict.fromkeys(groups, 1 / len(groups))
    if set(part.groups) != set(groups):
        there = ", ".join(sorted(groups))
        raise ValueError(f"'groups' must name the groups of the hidden cases: {there}")
    return {group: value / sum(part.groups.values()) for group, value in part.groups.items()}


def _failure_in_words(call: Mapping[str, object], key: CodeKey) -> str:
    """Returns why a call returned nothing, without any text that the student's code controls."""
    match call["is"]:
        case "raised":
            # Not the line: code that knows a hidden input could reveal it by where it raises.
            kind, said = raised.describe_exception(
                call.get("type"), call.get("what"), (*key.tools, key.part.driver)
            )
            return f"{kind} was raised" + (f": {said}" if said else "")
        case "unfit":
            why = call.get("what")
            return f"the result can't be read: {why if why in trial.REASONS else trial.TOO_MUCH}"
        case "late":
            return f"a call took longer than {key.part.seconds:g} s"
        case "died":
            return f"a call {str(call.get('what')).partition(' (')[0]}"  # no exit status
        case "unmade":
            return f"not called, because {call.get('what')}"
    return "the result could not be read"


def example_fault(call: Mapping[str, object], key: CodeKey) -> str | None:
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
        return f"{named}: {_failure_in_words(call, key)}"
    try:
        both = decode_result(call.get("v"))
    except ValueError:
        return f"{named}: the result could not be read"
    if not isinstance(both, list) or len(both) != 2:
        return f"{named}: the result could not be read"
    why = difference(both[0], both[1], key.part.closeness)
    return None if why is None else f"{named} gives {format_result(both[0])}: {why}"
