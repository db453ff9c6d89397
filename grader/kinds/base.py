"""The interface of an answer kind: how answers are read, judged, and explained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from grader.model import CallPlan, Draw, Judgment, Key, Part, Raw, Verdict
from grader.registry import Registry
from grader.units.quantity import Value
from grader.wire import encoding


class Unreadable(Exception):  # noqa: N818 - it is an answer, not an error
    """The value is not an answer. Says what was found and how to write it; not counted as wrong."""

    def __init__(self, sentence: str, *, blank: bool = False):
        super().__init__(sentence)
        self.sentence = sentence
        self.blank = blank
        """True for the untouched placeholder, which counts as no answer."""


class BeyondLimit(Unreadable):
    """An answer that exceeds a limit of the grader and was not read completely.

    It may be right, so its mark stays open. The sentence says which limit it was.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A sample answer as the kernel would send it, with the expected judgment."""

    raw: Raw
    share: float | None
    """The expected share of the points; None if it must be unreadable or wait for manual
    grading."""
    why: str
    mistake: str | None = None
    """The mistake ID that the judgment must name. Every mistake in the spec has an example."""


K = TypeVar("K", bound=Key)
V = TypeVar("V")

CORRECT = Judgment(share=1.0, verdict=Verdict.CORRECT)


def partial_judgment(
    share: float | None,
    note: str = "",
    mistake: str | None = None,
    cells: Mapping[str, str] | None = None,
) -> Judgment:
    """Returns the judgment of an answer that is not all right; without a *share*, it is open."""
    if share is None:
        verdict = Verdict.UNSETTLED
    elif share > 0:
        verdict = Verdict.PARTIAL
    else:
        verdict = Verdict.MISTAKE if mistake else Verdict.INCORRECT
    return Judgment(share=share, verdict=verdict, note=note, mistake=mistake, cells=cells or {})


UNDRAWN = Draw(seed=b"", scope={}, facts={})
"""The draw of a key that was made from a sheet."""


class KindOf(ABC, Generic[K, V]):
    """How answers of one kind are read, judged, and explained. Stateless.

    A kind defines `spec` and the seven abstract methods; the defaults of the others suit most
    kinds. The key is secret and never enters the student's process.
    """

    spec: type[Part]
    """The spec's fields: a frozen dataclass that extends Part."""
    needs_solution: bool = False
    """Whether grading needs the source of the solution file, whose `solve` then leaves the part
    out."""
    is_measured: bool = False
    """Whether executing the notebook again may settle an unsettled answer."""

    @abstractmethod
    def key(self, part: Any, draw: Draw) -> K:
        """Returns the key for *part* in a variant. Raises SpecError or ValueError for bad specs."""

    @abstractmethod
    def read(self, raw: Raw, key: K) -> V:
        """Returns the value that the student meant. Raises Unreadable; never trusts *raw*."""

    @abstractmethod
    def judge(self, value: V, key: K) -> Judgment:
        """Returns the judgment of a value that was read. Pure."""

    @abstractmethod
    def examples(self, key: K) -> tuple[Example, ...]:
        """Returns right, wrong, and unreadable samples for this key."""

    @abstractmethod
    def answer(self, key: K) -> object:
        """Returns the right answer as plain Python data that a student could give.

        None if a person grades the part. For code, it is the text of the reference solution.
        """

    @abstractmethod
    def format_value(self, value: V, key: K) -> str:
        """Returns the value as understood, such as "28 GB", on one line of plain text."""

    @abstractmethod
    def instructions(self, key: K) -> str:
        """Returns how to write the answer, on one line for the answer cell.

        A rule for partial credit follows a semicolon. Reveals nothing of the key.
        """

    def explain(self, key: K) -> str:
        """Returns Markdown that tells the student, after release, what was accepted and why."""
        answer = self.answer(key)
        if answer is None:
            return "This part is graded manually."
        value = self.read(self.ideal_raw(encoding.encode_answer(answer), key), key)
        return f"**{self.format_value(value, key)}**"

    def sheet(self, key: K) -> Mapping[str, object]:
        """Returns the public JSON data that `read` and `format_value` need of the key.

        The student's notebook contains it, so that `grader check` works without the release.
        """
        return {}

    def from_sheet(self, sheet: Mapping[str, object]) -> K:
        """Returns a key without the right answer that only `read` and `format_value` can use.

        Students can edit the sheet: raises ValueError, KeyError, or TypeError if it is invalid.
        """
        return Key(part=Part(id="", kind="", ask=""), draw=UNDRAWN)  # type: ignore[return-value]

    def read_solution(self, answer: object, key: K) -> V:
        """Returns the value for what `solve` in the solution file returned, with IDs for letters.

        Raises ValueError if it is not an answer of this kind.
        """
        try:
            return self.read(self.ideal_raw(encoding.encode_answer(answer), key), key)
        except Unreadable as reason:
            raise ValueError(reason.sentence) from None

    def carry_value(self, value: V, key: K) -> Value | None:
        """Returns the value that later parts compute with; None if it can't be carried forward."""
        return None

    def call_plan(self, name: str, key: K) -> CallPlan | None:
        """Returns what the runner does with the answer *name*; None if it only reads its value."""
        return None

    def ideal_raw(self, raw: Raw, key: K) -> Raw:
        """Returns *raw* as a run would leave it if all measurements came out as expected."""
        return raw

    def before_release(self, text: str) -> str:
        """Returns a text from `format_value` without what must stay hidden until release."""
        return text


# Code that handles kinds in general knows neither the key nor the value type of any of them.
Kind = KindOf[Any, Any]

kinds: Registry[Kind] = Registry("kind", "grader.kinds")
"""The kinds of answers: how each is asked for, read, judged, and explained."""
