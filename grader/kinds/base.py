"""The interface of an answer kind: how answers are read, judged, and explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from grader.model import Draw, Judgement, Key, Part, Raw, Trial, Verdict
from grader.model.item import Item
from grader.registry import Registry
from grader.units.quantity import Value


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The result of one visible example."""

    call: str
    """The expression on one line."""
    fault: str = ""
    """Why the example failed; empty if it passed."""


P = TypeVar("P", bound=Part)
K = TypeVar("K", bound=Key)
V = TypeVar("V")


class KindOf(Protocol[P, K, V]):
    """How answers of one kind are asked for, read, and judged. Stateless.

    `key` is secret and never enters the student's process; `read` never trusts its input; `judge`
    is a pure function.
    """

    spec: type[P]
    """The spec's fields: a frozen dataclass that extends Part."""

    def key(self, part: P, draw: Draw) -> K:
        """Returns the key for *part* in this variant. Raises SpecError or ValueError for a bad
        spec."""

    def read(self, raw: Raw, key: K) -> V:
        """Returns the value that the student meant. Raises Unreadable."""

    def judge(self, value: V, key: K) -> Judgement:
        """Returns the judgment of a value that was read."""

    def say(self, value: V, key: K) -> str:
        """Returns the value as the grader understood it, such as "28 GB", on one line of plain
        text."""

    def before_release(self, said: str) -> str:
        """Returns the text from `say` without anything that must stay hidden until the key is
        released."""

    def examples(self, key: K) -> tuple[Example, ...]:
        """Returns right, wrong, and unreadable samples for this key."""

    def placeholder(self, key: K) -> str:
        """Returns the Python expression that the answer cell starts with, such as `...`."""

    def how(self, key: K) -> str:
        """Returns how to write the answer, on one line for the answer cell; reveals nothing of the
        key."""

    def options(self, key: K) -> str:
        """Returns the choices as Markdown to show below the question; empty if there are none."""

    def answer(self, key: K) -> object:
        """Returns the right answer as JSON data for `grader key`; None if it is graded manually."""

    def true(self, key: K) -> V | None:
        """Returns the right answer as `read` would return it; None if only a person can judge
        it."""

    def solved(self, answer: object, key: K) -> V:
        """Returns the value for an answer that a solution file returned, with IDs for
        letters.

        Raises ValueError if it is not an answer of this kind.
        """

    def sheet(self, key: K) -> Mapping[str, object]:
        """Returns the public JSON data needed to read an answer; reveals nothing of the key.

        The student's notebook contains it, so that `grader check` works without the release.
        """

    def from_sheet(self, sheet: Mapping[str, object]) -> K:
        """Returns a key without the right answer that only `read` and `say` can use.

        Students can edit the sheet: raises ValueError, KeyError, or TypeError if it is invalid.
        """

    def literal(self, key: K) -> str:
        """Returns the right answer as a Python expression, for `grader solve`."""

    def explain(self, key: K) -> str:
        """Returns Markdown that tells the student, after release, what was accepted and why."""

    def carried(self, value: V | None, key: K) -> Value | None:
        """Returns the value that later parts compute with; None if it can't be carried forward."""

    def items(self, key: K) -> tuple[Item, ...]:
        """Returns the part as questions for another system, with weights that add up to 1; may be
        empty."""

    needs_solution: bool
    """Whether grading needs the source of the solution file."""
    is_measured: bool
    """Whether executing the notebook again may settle an unsettled answer."""
    by_solve: bool
    """Whether `solve` in the solution file recomputes the key."""

    def trial(self, name: str, key: K) -> Trial | None:
        """Returns what the runner does with the answer *name*; None if it only reads its value."""

    def brief(self, key: K) -> str:
        """Returns what the check inside a notebook must know: the unit or the letters.

        A word or two, shown next to the name of the kind; reveals nothing of the key.
        """

    def form(self, key: K) -> object:
        """Returns more data that this check needs, as plain Python data; None for nothing.

        The student's notebook contains it, so it holds only what the notebook also shows.
        """

    def imports(self, key: K) -> tuple[str, ...]:
        """Returns the modules that a right answer needs, such as `torch`."""

    def lacks(self, value: V, key: K) -> str:
        """Returns what is missing from an answer that was read, such as "2 of 6 cells"; may be
        empty.

        Used by the student's own check; reveals nothing of the key.
        """

    def tried(self, value: V, key: K) -> tuple[Tried, ...]:
        """Returns the results of the visible examples for the student's own check."""

    def ran(self, key: K, name: str, source: str) -> Raw:
        """Returns the data that running *source*, one of our own answer cells, would leave for
        *name*."""

    def seen(self, raw: Raw, key: K) -> Raw:
        """Returns *raw* as a run would leave it if all measurements came out as expected."""

    def definition(self, name: str, key: K, answer: str | None) -> str:
        """Returns the whole answer cell if it is more than a name and a value; otherwise empty.

        *answer* is the text from `literal`, for a notebook that is filled in.
        """

    def try_out(self, name: str, key: K) -> str:
        """Returns the code of a cell below the answer for trying it out; empty if there is none."""

    def around(self, key: K) -> Mapping[str, str]:
        """Returns cells to show above the problem for the student to use, by name."""


# Code that handles kinds in general knows neither the part, key, nor value type of any of them.
Kind = KindOf[Any, Any, Any]


CORRECT = Judgement(share=1.0, verdict=Verdict.CORRECT)

# For keys made from a sheet, where nothing was drawn.
UNDRAWN = Draw(
    scope={},
    facts={},
    fill=lambda text, _: text,
    order=lambda _, count: tuple(range(count)),
    vary=lambda changed: changed,
)


class Usual(Generic[K, V]):
    """Default methods that suit most kinds. A kind overrides those that differ."""

    def placeholder(self, key: K) -> str:  # noqa: ARG002
        """Returns an ellipsis."""
        return "..."

    def options(self, key: K) -> str:  # noqa: ARG002
        """Returns an empty text: there are no choices."""
        return ""

    def sheet(self, key: K) -> Mapping[str, object]:  # noqa: ARG002
        """Returns an empty text: the name of the kind is enough."""
        return {}

    def items(self, key: K) -> tuple[Item, ...]:  # noqa: ARG002
        """Returns no items: no other system can ask this question."""
        return ()

    needs_solution = False
    by_solve = True
    is_measured = False

    def trial(self, name: str, key: K) -> Trial | None:  # noqa: ARG002
        """Returns None: the answer is a plain value."""
        return None

    def before_release(self, said: str) -> str:
        """Returns *said* unchanged: it contains only the student's own answer."""
        return said

    def brief(self, key: K) -> str:  # noqa: ARG002
        """Returns no modules."""
        return ""

    def form(self, key: K) -> object:  # noqa: ARG002
        """Returns None: the kind and `brief` are enough."""
        return None

    def imports(self, key: K) -> tuple[str, ...]:  # noqa: ARG002
        """Returns None: the answer is a value."""
        return ()

    def lacks(self, value: V, key: K) -> str:  # noqa: ARG002
        """Returns an empty text: the answer is a single value that was read."""
        return ""

    def tried(self, value: V, key: K) -> tuple[Tried, ...]:  # noqa: ARG002
        """Returns no results: there are no examples."""
        return ()

    def ran(self, key: K, name: str, source: str) -> Raw:
        """Returns an empty mapping: answers of this kind are values."""
        raise NotImplementedError

    def seen(self, raw: Raw, key: K) -> Raw:  # noqa: ARG002
        """Returns *raw* unchanged: nothing is measured."""
        return raw

    def definition(self, name: str, key: K, answer: str | None) -> str:  # noqa: ARG002
        """Returns an empty text: a name and a value are enough."""
        return ""

    def try_out(self, name: str, key: K) -> str:  # noqa: ARG002
        """Returns an empty text: there is nothing to try out."""
        return ""

    def around(self, key: K) -> Mapping[str, str]:  # noqa: ARG002
        """Returns no cells."""
        return {}

    def carried(self, value: V | None, key: K) -> Value | None:  # noqa: ARG002
        """Returns None: there is no value to compute with."""
        return None


kinds: Registry[Kind] = Registry("kind", "grader.kinds")
