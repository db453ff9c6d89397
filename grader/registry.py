"""Registries of named implementations, with a suggestion for an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from grader.errors import SetupError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

BUILT_IN = {
    "grader.exporters": {
        "csv": "grader.integrations.csv_totals:Csv",
        "github": "grader.integrations.github.results:GitHub",
        "classroom50": "grader.integrations.github.classroom50:Classroom50",
        "gradescope": "grader.integrations.gradescope.results:Gradescope",
        "canvas": "grader.integrations.lms.gradebooks.canvas:Canvas",
        "worksheet": "grader.integrations.lms.gradebooks.worksheet:Worksheet",
        "moodle": "grader.integrations.lms.quizzes.moodle:Moodle",
        "qti": "grader.integrations.lms.quizzes.qti:Qti",
        "nbgrader": "grader.integrations.nbgrader.export:Nbgrader",
        "actions": "grader.integrations.github.actions:Actions",
    },
    "grader.executors": {"dask": "grader.integrations.cluster.executor:open_dask"},
    "grader.sources": {"nbgrader": "grader.integrations.nbgrader.feedback:graded_assignment"},
}
"""Implementations in this package by entry-point group, loaded on first use.

Lower rooms reach them by name, as they reach those of other packages.
"""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name most similar to *name*, or None if none is close.

    >>> nearest("toleranse", ["tolerance", "unit"])
    'tolerance'
    """
    names = list(known)
    folded = {n.casefold(): n for n in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    matches = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def suggest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Returns the question whether the most similar known name was meant, or else *otherwise*."""
    similar = nearest(name, known)
    return f"did you mean '{similar}'?" if similar else otherwise


class Registry(Generic[T]):
    """Implementations by name; other packages add theirs through the entry-point group *group*."""

    def __init__(self, noun: str, group: str):
        self.noun = noun
        self.group = group
        self._registered: dict[str, T] = {}
        self._built_in = set(BUILT_IN.get(group, {}))

    def add(self, name: str) -> Callable[[T], T]:
        """Returns a decorator that registers its object under *name*."""

        def register(entry: T) -> T:
            self._registered[name] = entry
            self._built_in.add(name)
            return entry

        return register

    def find(self, name: str) -> T:
        """Returns the object registered under *name*, loading a plug-in on first use.

        Raises SetupError, with the nearest known name, if there is none or it can't be loaded.
        """
        registered = self._registered.get(name)
        if registered is not None:
            return registered
        if name in self._plugins:
            self._registered[name] = self._load(self._plugins[name])
        if name not in self._registered:
            fix = suggest(name, self, "known: " + ", ".join(sorted(self)))
            raise SetupError(f"{self.noun} '{name}' does not exist", fix=fix)
        return self._registered[name]

    @cached_property
    def _plugins(self) -> Mapping[str, EntryPoint]:
        """Entry points of this group by name; cached because listing them is slow."""
        from importlib.metadata import EntryPoint, entry_points

        own = BUILT_IN.get(self.group, {})
        points = [EntryPoint(name, value, self.group) for name, value in own.items()]
        return {point.name: point for point in (*entry_points(group=self.group), *points)}

    def plug_ins(self) -> tuple[EntryPoint, ...]:
        """Returns the entry points of other packages, except those with the name of a built-in
        object, which are not used."""
        from importlib.metadata import entry_points

        points = entry_points(group=self.group)
        return tuple(point for point in points if point.name not in self._built_in)

    def _load(self, point: EntryPoint) -> T:
        """Returns the object that *point* names. Raises SetupError if it can't be loaded."""
        try:
            loaded: T = point.load()
        except (Exception, SystemExit) as error:  # some scripts exit where they are imported
            raise SetupError(
                f"the plug-in for {self.noun} '{point.name}' can't be loaded: {error}",
                where=point.value,
                fix="repair the package that provides it, or uninstall it",
            ) from error
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter({**self._registered, **self._plugins})

    def __contains__(self, name: object) -> bool:
        return name in self._registered or name in self._plugins
