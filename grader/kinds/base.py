"""What a kind of answer must be able to do: the first of the four seams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from grader.model import Draw, Judgement, Key, Part, Raw, Trial, Verdict
from grader.model.item import Item
from grader.registry import Registry
from grader.units.quantity import Value


class Unreadable(Exception):  # noqa: N818 - it is an answer, not an error
    """Not an answer: says what was seen and how to write it. Earns nothing, and is not wrong."""

    def __init__(self, sentence: str, *, blank: bool = False):
        super().__init__(sentence)
        self.sentence = sentence
        self.blank = blank
        """True for the untouched placeholder, which counts as no answer at all."""


class BeyondLimit(Unreadable):
    """An answer that the grader did not read whole because of a limit of its own.

    It may be right, so its mark stays open. The sentence says which limit it was.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A sample answer as the kernel would send it, and what must come of it."""

    raw: Raw
    share: float | None
    """Of the points; None for one that must be unreadable, or must wait for a person."""
    why: str
    mistake: str | None = None
    """The id that the judgement must name; every mistake of the author's has an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One visible example, as it went."""

    call: str
    """The expression, in one line."""
    fault: str = ""
    """What is wrong with what came of it; empty when it passes."""


P = TypeVar("P", bound=Part)
K = TypeVar("K", bound=Key)
V = TypeVar("V")


class KindOf(Protocol[P, K, V]):
    """How one kind of answer is asked for, read and judged. Stateless.

    `key` is secret and made left of the wall; `read` never trusts its input; `judge` is pure.
    """

    spec: type[P]
    """The fields of the YAML, a frozen dataclass that extends Part."""

    def key(self, part: P, draw: Draw) -> K:
        """What is right for *part* in this scope. Raises SpecError or ValueError for a bad spec."""

    def read(self, raw: Raw, key: K) -> V:
        """The value that the student meant. Raises Unreadable."""

    def judge(self, value: V, key: K) -> Judgement:
        """The verdict on a value that was read."""

    def say(self, value: V, key: K) -> str:
        """The value as we understood it, such as "28 GB", in one line of plain text."""

    def before_release(self, said: str) -> str:
        """What `say` gave, without what a student may not read before the key is released."""

    def examples(self, key: K) -> tuple[Example, ...]:
        """Right, wrong and unreadable samples for this very key."""

    def placeholder(self, key: K) -> str:
        """The Python expression the student's answer cell starts with, such as `...`."""

    def how(self, key: K) -> str:
        """How to write the answer, in one line for the answer cell; nothing of the key."""

    def options(self, key: K) -> str:
        """What is to be chosen from, as Markdown under the ask; empty when nothing is."""

    def answer(self, key: K) -> object:
        """The right answer as plain JSON data, for `grader key`; None when a person grades it."""

    def true(self, key: K) -> V | None:
        """The right answer as `read` would return it; None when only a person can tell."""

    def solved(self, answer: object, key: K) -> V:
        """The value of this kind for what a solution file returned: ids rather than letters.

        Raises ValueError when it is not an answer of this kind.
        """

    def sheet(self, key: K) -> Mapping[str, object]:
        """What a reader of the answer must know, as public JSON data; nothing of the key.

        It stands in the student's notebook, so that `grader check` works without the release.
        """

    def from_sheet(self, sheet: Mapping[str, object]) -> K:
        """A key that `read` and `say` can use and nothing else: it knows no answer.

        The sheet was in a student's hands; raises ValueError, KeyError or TypeError for nonsense.
        """

    def literal(self, key: K) -> str:
        """The right answer as a Python expression, for `grader solve`."""

    def explain(self, key: K) -> str:
        """What was accepted and why, for the student after release, in Markdown."""

    def carried(self, value: V | None, key: K) -> Value | None:
        """What later parts that use this one compute with; None when it can't be carried."""

    def items(self, key: K) -> tuple[Item, ...]:
        """The part as questions of another system, with weights that add up to 1; or none."""

    needs_solution: bool
    """Whether grading needs the text of the solution file."""
    is_measured: bool
    """Whether an unsettled answer may be settled by executing the notebook once more."""
    by_solve: bool
    """Whether `solve` of the solution file comes to the key once more."""

    def trial(self, name: str, key: K) -> Trial | None:
        """What to do on the runner with the answer of that name; None when it is just asked for."""

    def brief(self, key: K) -> str:
        """What the check inside a notebook must know of the answer: its unit, or its letters.

        It stands there beside the kind's name, in a word or two; nothing of the key.
        """

    def form(self, key: K) -> object:
        """What else that check must know, as plain data of Python; None for nothing.

        It stands in the student's notebook: nothing that is not printed there anyway.
        """

    def imports(self, key: K) -> tuple[str, ...]:
        """The modules without which no right answer can be defined, such as `torch`."""

    def lacks(self, value: V, key: K) -> str:
        """What is missing in an answer that was read, such as "2 of 6 cells"; empty when nothing.

        For the student's own check; nothing of the key.
        """

    def tried(self, value: V, key: K) -> tuple[Tried, ...]:
        """What came of each visible example, for the student's own check; nothing of the key."""

    def ran(self, key: K, name: str, source: str) -> Raw:
        """What a run of *source*, an answer cell of ours, would leave of the answer *name*."""

    def seen(self, raw: Raw, key: K) -> Raw:
        """What a run would make of *raw* if everything that is measured came out as it should."""

    def definition(self, name: str, key: K, answer: str | None) -> str:
        """The whole answer cell, where it is more than a name and a value; empty elsewhere.

        *answer* is what `literal` gave, for a notebook that is filled in.
        """

    def try_out(self, name: str, key: K) -> str:
        """A cell below the answer in which the student can try it out; empty when there is none."""

    def around(self, key: K) -> Mapping[str, str]:
        """Cells above the problem that the student may use, by name."""


# Whoever works with kinds in general knows neither part nor key nor value of any one of them.
Kind = KindOf[Any, Any, Any]


CORRECT = Judgement(share=1.0, verdict=Verdict.CORRECT)

# For a key made from a sheet, where nothing was drawn.
UNDRAWN = Draw(
    scope={},
    facts={},
    fill=lambda text, _: text,
    order=lambda _, count: tuple(range(count)),
    vary=lambda changed: changed,
)


class Usual(Generic[K, V]):
    """What most kinds do alike; a kind overrides what it does in its own way."""

    def placeholder(self, key: K) -> str:  # noqa: ARG002
        """An ellipsis."""
        return "..."

    def options(self, key: K) -> str:  # noqa: ARG002
        """Nothing: the answer is not chosen from anything."""
        return ""

    def sheet(self, key: K) -> Mapping[str, object]:  # noqa: ARG002
        """Nothing: the kind says it all."""
        return {}

    def items(self, key: K) -> tuple[Item, ...]:  # noqa: ARG002
        """None: only this grader can ask it."""
        return ()

    needs_solution = False
    by_solve = True
    is_measured = False

    def trial(self, name: str, key: K) -> Trial | None:  # noqa: ARG002
        """None: the answer is the value."""
        return None

    def before_release(self, said: str) -> str:
        """The same: it is the student's own."""
        return said

    def brief(self, key: K) -> str:  # noqa: ARG002
        """Nothing."""
        return ""

    def form(self, key: K) -> object:  # noqa: ARG002
        """None: the kind and `brief` say it all."""
        return None

    def imports(self, key: K) -> tuple[str, ...]:  # noqa: ARG002
        """None: the answer is a value."""
        return ()

    def lacks(self, value: V, key: K) -> str:  # noqa: ARG002
        """Nothing: it is one thing, and was read."""
        return ""

    def tried(self, value: V, key: K) -> tuple[Tried, ...]:  # noqa: ARG002
        """Nothing: there are no examples."""
        return ()

    def ran(self, key: K, name: str, source: str) -> Raw:
        """Nothing: answers of this kind are values."""
        raise NotImplementedError

    def seen(self, raw: Raw, key: K) -> Raw:  # noqa: ARG002
        """The same: nothing is measured."""
        return raw

    def definition(self, name: str, key: K, answer: str | None) -> str:  # noqa: ARG002
        """Nothing: a name and a value are enough."""
        return ""

    def try_out(self, name: str, key: K) -> str:  # noqa: ARG002
        """Nothing."""
        return ""

    def around(self, key: K) -> Mapping[str, str]:  # noqa: ARG002
        """Nothing."""
        return {}

    def carried(self, value: V | None, key: K) -> Value | None:  # noqa: ARG002
        """None: there is no number or word to compute with."""
        return None


kinds: Registry[Kind] = Registry("kind", "grader.kinds")
