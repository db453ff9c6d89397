"""What a kind of answer must be able to do: the first of the four seams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from grader.model import Draw, Judgement, Key, Part, Raw
from grader.quantity import Value
from grader.registry import Registry


class Unreadable(Exception):
    """Not an answer: says what was seen and how to write it. Earns nothing, and is not wrong."""

    def __init__(self, sentence: str, *, blank: bool = False):
        super().__init__(sentence)
        self.sentence = sentence
        self.blank = blank
        """True for the untouched placeholder, which counts as no answer at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A sample answer as the kernel would send it, and what must come of it."""

    raw: Raw
    share: float | None
    """Of the points; None for one that must be unreadable."""
    why: str


class Kind(Protocol):
    """How one kind of answer is asked for, read and judged. Stateless.

    `key` is secret and made left of the wall; `read` never trusts its input; `judge` is pure.
    """

    spec: type[Part]
    """The fields of the YAML, a frozen dataclass that extends Part."""

    def key(self, part: Part, draw: Draw) -> Key:
        """What is right for *part* in this scope. Raises SpecError or ValueError for a bad spec."""

    def read(self, raw: Raw, key: Key) -> object:
        """The value that the student meant. Raises Unreadable."""

    def judge(self, value: object, key: Key) -> Judgement:
        """The verdict on a value that was read."""

    def say(self, value: object, key: Key) -> str:
        """The value as we understood it, such as "28 GB", in one line of plain text."""

    def examples(self, key: Key) -> tuple[Example, ...]:
        """Right, wrong and unreadable samples for this very key."""

    def placeholder(self, key: Key) -> str:
        """The Python expression the student's answer cell starts with, such as `...`."""

    def how(self, key: Key) -> str:
        """How to write the answer, in one line for the answer cell; nothing of the key."""

    def options(self, key: Key) -> str:
        """What is to be chosen from, as Markdown under the ask; empty when nothing is."""

    def answer(self, key: Key) -> object:
        """The right answer as plain JSON data, for `grader key`; None when a person grades it."""

    def literal(self, key: Key) -> str:
        """The right answer as a Python expression, for `grader solve`."""

    def explain(self, key: Key) -> str:
        """What was accepted and why, for the student after release, in Markdown."""

    def carried(self, value: object, key: Key) -> Value | None:
        """What later parts that use this one compute with; None when it can't be carried."""


kinds: Registry[Kind] = Registry("kind", "grader.kinds")
