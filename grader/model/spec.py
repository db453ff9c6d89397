"""The specs that authors write: problems, their parts, and the sets that use them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

# Markers in the type hints: expressions are parsed and texts compiled when a file is loaded, so
# that errors have line numbers and never surface later, in a student's exam.
Expr = Annotated[str | int | float | bool, "expression"]
Text = Annotated[str, "text"]


class Strict:
    """A record of a spec: `grader.bank.shape` rejects unknown fields and values of other types."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, object]] = {
        "extra": "forbid",
        "strict": True,
        "allow_inf_nan": False,
    }


def parse_share(written: str | float) -> float:
    """Returns the share that an author wrote, from 0 to 1.

    Raises ValueError for anything else.

    >>> parse_share("25%"), parse_share(0.25), parse_share("2.5 %")
    (0.25, 0.25, 0.025)
    """
    try:
        percent = isinstance(written, str) and written.strip().endswith("%")
        value = float(str(written).strip().removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"{written!r} is not a share between 0 and 1; 25 percent is 25% or 0.25")
    return value


class _ParsedShare:
    """Makes the spec loader accept a share as a number or as a percentage."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        # A schema of pydantic-core as plain data, since records import no library.
        parse = {"type": "no-info", "function": parse_share}
        written = handler.generate_schema(str | int | float)
        return {"type": "function-after", "function": parse, "schema": written}


Share = Annotated[float, _ParsedShare()]
"""A share from 0 to 1; specs may give it as a percentage: 0.01 or "1%"."""
Scalar = str | int | float | bool

FAMILIES: Mapping[str, str] = {
    "memory-math": "Memory arithmetic",
    "runtime-sanity": "Runtime estimates",
    "parallelism": "Parallelism",
    "cuda-threading": "CUDA and threads",
    "numerics": "Numerics",
    "compression": "Compression",
    "training": "Training",
    "profiling": "Profiling",
    "foundations": "Foundations",
}
"""The built-in families with their titles; a bank declares others in problems/families.yaml."""
Level = Literal["recall", "apply", "analyze", "create"]
Need = Literal["loopback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(Strict):
    """A number or word drawn for each student; give exactly one of choice, integer, real, rows."""

    choice: tuple[Scalar, ...] | None = None
    """Draw one of these values."""
    integer: tuple[int, int] | None = None
    """Draw from the first to the last value, both included."""
    real: tuple[float, float] | None = None
    """Draw from the first to the last value, both included, in steps of `step`."""
    rows: tuple[Mapping[str, Scalar], ...] | None = None
    """Draw one of these rows; each column becomes a separate name."""
    step: float | None = None
    """The distance between the values of a range."""
    unit: str | None = None
    """The unit of the value, which makes it a quantity."""
    units: Mapping[str, str] = field(default_factory=dict)
    """With rows: the unit of each column that has one."""
    label: str | None = None
    """The label in the table of given values; defaults to the name."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """With rows: the label of each column."""
    shown: bool = True
    """Whether it appears in the table of given values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance(Strict):
    """How far an answer may be from the key; if several widths are given, the widest applies."""

    relative: Share | None = None
    """A share of the key's magnitude, such as 1%."""
    absolute: Expr | None = None
    """A distance in the part's unit, or with an explicit unit."""
    significant_figures: int | None = None
    """Half a unit in this significant digit of the key."""
    factor: float | None = None
    """From key / factor to key * factor, on the key's side of zero."""
    input_rounding: tuple[str, ...] | Mapping[str, Expr] | None = None
    """Parameters known only to their last printed digit (or to the half-width given for each)."""
    because: str | None = None
    """The reason for this width, shown to students after release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake(Strict):
    """A typical wrong answer, with feedback for students who give it."""

    id: str
    value: Expr
    feedback: Text
    credit: Share = 0.0
    """The share of the part's points that this mistake keeps."""
    when: Expr | None = None
    """The mistake applies only to variants for which this holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry(Strict):
    """How the student's own earlier answers are carried into this part."""

    discount: Share = 0.0
    """The share of the points that a carried answer loses."""
    within: float = 100.0
    """Do not carry an earlier answer that differs from the true one by more than this factor."""
    where: tuple[Expr, ...] = ()
    """Carry only if these hold for the student's earlier answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Strict):
    """The smallest unit that earns points; every kind adds fields to these."""

    id: str
    kind: str
    ask: Text
    points: float = 1.0
    minutes: float | None = None
    """The expected time for this part; parts without it share the rest of the problem's minutes in
    proportion to their points."""
    uses: tuple[str, ...] = ()
    """Earlier parts whose answers this part's expressions name."""
    carry: Carry = field(default_factory=Carry)
    pool: str = ""
    """The pool of the problem that this part belongs to. A set can draw some parts of each pool."""
    explanation: Text = ""
    """The worked solution of this part, for problems of which a set asks only some parts."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the names that only this part's expressions can use, such as those of a table's
        row."""
        return ()

    def iter_faults(self) -> Iterator[tuple[str, str, str]]:
        """Yields a field's name, what is wrong with it, and what to do, for each fault that shows
        without drawing numbers.

        Released specs are not checked again, so a new check never invalidates a release.
        """
        yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Strict):
    """A figure drawn with the variant's numbers; every type adds fields to these."""

    id: str
    type: str
    alt: Text
    """A sentence that says what the figure shows, for those who can't see it."""
    show: Literal["prompt", "explanation"] = "explanation"
    """Whether students see it with the question, or only with the worked solution."""
    part: str | None = None
    """The part whose paragraph of the explanation it follows; at the end if None."""

    def local_names(self) -> tuple[str, ...]:
        """Returns names that this figure binds for its own expressions, such as a curve's
        variable."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Strict):
    """One YAML spec: a family of variants with one or more parts."""

    id: str
    title: str
    family: str
    prompt: Text
    parts: tuple[Part, ...]
    topics: tuple[str, ...] = ()
    concepts: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    """Ids in the concept inventory of what this problem examines, each with the parts that examine
    it. In a list of ids, each counts for every part."""
    level: Level = "apply"
    minutes: float = 5.0
    needs: tuple[Need, ...] = ()
    """Capabilities of the sandbox that its answers need; other notebooks do not get them."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    where: tuple[Expr, ...] = ()
    """Parameters are drawn again until all of these hold; they may use values."""
    values: Mapping[str, Expr] = field(default_factory=dict)
    """Computed in order; may use parameters, units, facts and earlier values."""
    given: Mapping[str, Expr] = field(default_factory=dict)
    """Rows for the table of given values beside the parameters: label to expression."""
    assumptions: tuple[Text, ...] = ()
    """Conventions that the answers depend on, printed under the prompt."""
    explanation: Text = ""
    """The worked solution, with the student's own numbers."""
    figures: tuple[Figure, ...] = ()
    """Figures of the question and of the worked solution."""
    solution: str = ""
    """The text of the solution file, for problems with code; never written in YAML. **Secret.**"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition(Strict):
    """One of several editions of a set, which never ask the same part of a pool."""

    number: int
    """From 1 to `of`."""
    of: int
    """The number of editions that the pools are divided among."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot(Strict):
    """One entry of a set: one problem, or a pool from which some are drawn."""

    problem: str | None = None
    pool: tuple[str, ...] = ()
    choose: int = 1
    parts: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    """The parts of the problem to ask, or for a pool, the parts by problem. All parts of a problem
    that has none here."""
    points: float | None = None
    """The points of each problem of this slot in this set; defaults to the problem's points."""
    draw: Mapping[str, int] = field(default_factory=dict)
    """How many parts to draw for each student from each pool of the problem's parts. Parts without
    a pool are asked as well."""
    edition: Edition | None = None
    """The edition whose share of each pool is drawn from; defaults to the set's."""

    @property
    def problem_ids(self) -> tuple[str, ...]:
        """The ids of the problems that this slot may ask."""
        return (self.problem,) if self.problem else self.pool

    @property
    def count(self) -> int:
        """How many problems a student gets from this slot."""
        return 1 if self.problem else self.choose

    @property
    def differs(self) -> bool:
        """Whether students may get different problems or parts from this slot."""
        return bool(self.draw) or self.count < len(self.problem_ids)

    def pool_share(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Returns those of *ids*, the parts of one pool, that this slot's edition draws from."""
        edition = self.edition
        return tuple(ids if edition is None else ids[edition.number - 1 :: edition.of])

    def parts_of(self, problem: str) -> tuple[str, ...]:
        """Returns the ids of the parts of *problem* to ask; empty for all parts."""
        if isinstance(self.parts, tuple):
            return self.parts
        return tuple(self.parts.get(problem, ()))

    def asks(self, problem: str, part: str) -> bool:
        """Returns whether students who get *problem* from this slot are asked *part*."""
        chosen = self.parts_of(problem)
        return not chosen or part in chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint(Strict):
    """What the papers of a set have in common; the bank's problems fill it."""

    minutes: float
    """The time that the questions of a paper take together."""
    points: float
    """The points of every paper, exactly."""
    questions: int | None = None
    """The number of questions of every paper; any number if None."""
    families: Mapping[str, Share] = field(default_factory=dict)
    """The share of the points that each family has; any families if empty."""
    levels: Mapping[Level, Share] = field(default_factory=dict)
    """The share of the points that each level has; any levels if empty."""
    topics: tuple[str, ...] = ()
    """Draw only problems with at least one of these topics; any topics if empty."""
    code: bool | None = None
    """False excludes problems with code or measurements, and true draws only those."""
    exclude: tuple[str, ...] = ()
    """The ids of problems that are not drawn."""
    tolerance: Share = 0.1
    """How far the minutes may be off, as a share of them, and each share, as a share of all
    points."""
    seed: int = 0
    """Another seed fills the blueprint with other problems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamSet(Strict):
    """An exam or problem sheet: which problems, for how many points."""

    id: str
    title: str
    problems: tuple[str | Slot, ...] = ()
    minutes: float | None = None
    instructions: Text = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that every notebook of the set runs with."""
    processes: int | None = None
    """Limit on processes and threads of each notebook at a time; None uses the default."""
    edition: Edition | None = None
    """The edition of the set; other editions draw other parts from the problems' pools."""
    blueprint: Blueprint | None = None
    """What the bank's problems fill the set with when it is loaded from a bank; a release has the
    result in `problems`."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The entries, each as a Slot."""
        slots = (Slot(problem=e) if isinstance(e, str) else e for e in self.problems)
        return tuple(replace(s, edition=s.edition or self.edition) if s.draw else s for s in slots)

    @property
    def problem_ids(self) -> tuple[str, ...]:
        """The ids of all problems that a student may get, without duplicates, in order."""
        return tuple(dict.fromkeys(i for slot in self.slots for i in slot.problem_ids))
