"""Searches a class for wrong ideas, in a process of its own so that no page has to wait.

`python -m grader.web.desk.idea_search RESULTS FEWEST` prints one line of JSON for each number that
has been searched, and then one with the result, which the desk files in the results folder.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from grader.errors import GraderError, SetupError
from grader.files import write_atomic
from grader.gradebook import Gradebook
from grader.gradebook.plain import now
from grader.grading.personal import IDEAS as FILE
from grader.grading.sources import require_release

log = logging.getLogger("grader.desk")
_VERSION = 1
FEWEST = 3
"""Minimum number of students that an idea must explain if nobody chooses another, as in `grader
mine`."""
LEAST = 2
"""The smallest number to choose."""
_NICENESS = 10
"""How far the search stands back behind the pages of the desk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The state of the newest search."""

    signature: str
    """The signature of the grades when the search began."""
    fewest: int
    at: str
    running: bool = True
    searched: int = 0
    count: int = 0
    """How many numbers there are to search; 0 while the answers are read."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """For each part, what `grader mine --json` prints, with the YAML of each idea."""
    error: str = ""


@dataclass(slots=True)
class IdeaSearch:
    """The searches of one desk, one at a time. Any thread may use it."""

    _results: Path
    _search: Search | None = None
    _process: subprocess.Popen[str] | None = None
    _lock: Lock = field(default_factory=Lock)

    def newest(self) -> Search | None:
        """Returns the state of the newest search, of this desk or an earlier one; None before the
        first one."""
        with self._lock:
            if self._search is None:
                self._search = _load_search(self._results)
            return self._search

    def start(self, book: Gradebook, fewest: int) -> None:
        """Begins a search for ideas of at least *fewest* students, unless one is running.

        Raises SetupError if the results don't come from a release, or if *fewest* is too small.
        """
        require_release(book)
        if fewest < LEAST:
            raise SetupError(
                "an idea needs at least two students", fix=f"go back, and enter {LEAST} or more"
            )
        with self._lock:
            if self._search is not None and self._search.running:
                return
            signature = book.answers.grades_signature()
            self._search = Search(signature=signature, fewest=fewest, at=now())
            program = "grader.web.desk.idea_search"
            command = [sys.executable, "-m", program, str(self._results), str(fewest)]
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
            )
            Thread(target=self._follow, args=(self._search, self._process), daemon=True).start()

    def close(self) -> None:
        """Stops a search that is running."""
        with self._lock:
            if self._process is not None:
                self._process.terminate()
                self._process.wait()

    def _follow(self, search: Search, process: subprocess.Popen[str]) -> None:
        """Stores what *process* reports about *search*, until it ends."""
        try:
            for line in process.stdout or ():
                report = json.loads(line)
                if "parts" in report:
                    report["parts"] = tuple(report["parts"])
                search = self._search = replace(search, **report)
                if not search.running and not search.error:
                    data = json.dumps({**asdict(search), "version": _VERSION})
                    write_atomic(self._results / FILE, data.encode(), private=True)
        except GraderError as failure:
            log.error("%s", failure)
        finally:
            status = process.wait()
            if search.running:
                if status != -signal.SIGTERM:
                    log.error("the search for wrong ideas ended with status %s", status)
                error = "it stopped before its end; for details, see the terminal"
                self._search = replace(search, running=False, error=error)


def _load_search(results: Path) -> Search | None:
    """Returns the search that is filed; None if there is none that this version can read."""
    try:
        data = json.loads((results / FILE).read_bytes())
        if data.pop("version") != _VERSION:
            return None
        return Search(**{**data, "parts": tuple(data["parts"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.error("%s can't be read: %s", results / FILE, error)
        return None


def main(results: Path, fewest: int) -> None:
    """Searches *results*, and prints the progress and the result."""
    from grader.analysis.wrong_answers import mine_gradebook

    if hasattr(os, "nice"):  # Windows has none
        os.nice(_NICENESS)
    try:
        with Gradebook.open(results) as book:
            mined = mine_gradebook(
                book, fewest=fewest, report=lambda done, count: _emit(searched=done, count=count)
            )
    except GraderError as error:
        _emit(running=False, error=str(error))
        return
    parts: list[dict[str, Any]] = []
    for part in mined:
        data: dict[str, Any] = part.as_data()
        for idea, text in zip(data["ideas"], part.mistakes(), strict=True):
            idea["yaml"] = text
        parts.append(data)
    _emit(running=False, parts=parts)


def _emit(**state: object) -> None:
    """Prints a change of the state of the search, which the desk reads."""
    print(json.dumps(state), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
