"""An nbgrader assignment: its cells, as the instructor wrote them.

**Secret**: it contains hidden tests and the values they compare with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseConfig:
    """The settings of an nbgrader course that affect marks; the defaults are nbgrader's."""

    code_stub: str = "# YOUR CODE HERE\nraise NotImplementedError()"
    text_stub: str = "YOUR ANSWER HERE"
    solution: tuple[str, str] = ("BEGIN SOLUTION", "END SOLUTION")
    """Text in the first and in the last line of a solution region; likewise below."""
    hidden: tuple[str, str] = ("BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
    scheme: tuple[str, str] = ("BEGIN MARK SCHEME", "END MARK SCHEME")
    require_solution_cells: bool = True
    """Whether a solution region outside of an answer cell is an error."""
    cell_seconds: float | None = 30.0
    """Time limit per cell; None for no limit."""
    notes: tuple[str, ...] = ()
    """Settings of the course that are not applied here and may change marks."""
    file: str = ""
    """The file with the settings; empty for nbgrader's defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCell:
    """A cell with an nbgrader id, with solutions cleared and hidden tests in place."""

    grade_id: str
    type: str
    source: str
    grade: bool = False
    """Whether it earns points."""
    solution: bool = False
    """Whether the student edits it."""
    locked: bool = False
    """Whether it is read-only; graded cells that students do not edit always are."""
    task: bool = False
    """Whether it describes a task that a person grades."""
    points: float = 0.0

    @property
    def is_locked(self) -> bool:
        """Whether this source replaces the cell in the student's submission."""
        return not self.solution and (self.grade or self.locked)

    @property
    def is_tests(self) -> bool:
        """Whether the cell's outputs determine points."""
        return self.grade and not self.solution and self.type == "code"

    @property
    def is_marked(self) -> bool:
        """Whether the cell has points, given automatically or by a person."""
        return self.grade or self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNotebook:
    """One notebook of an assignment, in the order of its cells."""

    name: str
    """The file name without its extension."""
    cells: tuple[SourceCell, ...]

    @property
    def digest(self) -> str:
        """Digest of what is executed; points are not part of it."""
        cells = [[c.grade_id, c.type, c.source, c.is_locked, c.solution] for c in self.cells]
        return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Everything that grading an assignment needs."""

    name: str
    notebooks: tuple[SourceNotebook, ...]
    """Ordered by name."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Other files, such as data, by path with `/` between folders."""
    config: CourseConfig = field(default_factory=CourseConfig)
    """Not stored with the results: it only says how to clear cells and how long they may run."""

    @property
    def max_points(self) -> float:
        """Total points of all notebooks."""
        return round(sum(c.points for n in self.notebooks for c in n.cells if c.is_marked), 6)

    def mark_name(self, notebook: str, grade_id: str) -> str:
        """Returns a mark's name: the cell's id, after the notebook's name if there are several."""
        return grade_id if len(self.notebooks) == 1 else f"{notebook}/{grade_id}"
