"""Names to things, with a near-miss suggestion when a name is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from grader.errors import SetupError

T = TypeVar("T")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like *name*, or None when none is close.

    >>> nearest("toleranse", ["tolerance", "unit"])
    'tolerance'
    """
    names = list(known)
    folded = {n.casefold(): n for n in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


class Registry(Generic[T]):
    """One seam's implementations by name; others plug in by the entry-point group *group*."""

    def __init__(self, noun: str, group: str):
        self.noun = noun
        self.group = group
        self._things: dict[str, T] = {}

    def add(self, name: str) -> Callable[[T], T]:
        """A decorator that registers what it decorates under *name*."""

        def register(thing: T) -> T:
            self._things[name] = thing
            return thing

        return register

    def find(self, name: str) -> T:
        """What is registered under *name*.

        Raises SetupError with the nearest known name when there is none.
        """
        if name not in self._things:
            self._load_entry_point(name)
        if name not in self._things:
            close = nearest(name, self._things)
            fix = f"did you mean '{close}'?" if close else "known: " + ", ".join(sorted(self))
            raise SetupError(f"{self.noun} '{name}' does not exist", fix=fix)
        return self._things[name]

    def _load_entry_point(self, name: str) -> None:
        from importlib.metadata import entry_points

        for point in entry_points(group=self.group, name=name):
            self._things[name] = point.load()

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __contains__(self, name: object) -> bool:
        return name in self._things
