"""A student's calls compared with the expected results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from grader.errors import PackageError
from grader.kinds import student_tools as tools
from grader.kinds.hidden import analysis, kept_cases
from grader.kinds.hidden.compare import Closeness, form_difference
from grader.kinds.hidden.kept_cases import HiddenCase, Keep
from grader.kinds.hidden.review import SourceReview, digest_of_review
from grader.kinds.hidden.solutions import SolutionFunctions, load_solution_functions
from grader.model import Call, CallPlan, Draw, Key, Part, Share, Text, packages
from grader.model.packages import Package
from grader.model.spec import Strict
from grader.wire.values import decode_result


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExample(Strict):
    """A visible example that the student can run."""

    call: Text
    """A Python expression that calls the function by the part's ID."""
    gives: Text
    """A Python expression for the expected result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Part):
    """A function or class that the student writes, graded with hidden cases."""

    kind: Literal["code"] = "code"
    starter: Text
    """The initial content of the answer cell: imports and a function or class named after the
    part."""
    examples: tuple[CodeExample, ...] = ()
    """Visible examples that the student can run."""
    driver: str = ""
    """Python code that defines `drive(answer, **inputs)`. If empty, the answer is called
    directly."""
    tools: tuple[str, ...] = ()
    """Modules of `grader.kinds.student_tools` that the driver uses and the notebook shows."""
    closeness: Closeness = field(default_factory=Closeness)
    """How close results must be. The solution may override this for a case."""
    groups: Mapping[str, Share] = field(default_factory=dict)
    """The share of the points for each group of hidden cases; equal shares if not given."""
    all_or_nothing: bool = False
    """Whether all groups must pass to earn any points."""
    seconds: float = 5.0
    """Time limit for each call, in seconds."""
    device: Literal["cpu", "cuda"] = "cpu"
    """`cuda` if the code needs a GPU. On other machines the part is deferred; see `grader
    grade`."""
    needs: tuple[Package, ...] = ()
    """Packages that the part needs besides those that its code imports. On a machine without them,
    the part is deferred; see `grader grade`."""
    forbid: tuple[str, ...] = ()
    """What the code must not use: `loops`, or dotted names such as `torch.softmax`."""
    mutates: bool = False
    """Whether the code may change its inputs in place."""

    def iter_faults(self) -> Iterator[tuple[str, str, str]]:
        """Yields a fault if no group of hidden cases earns points."""
        if self.groups and not any(self.groups.values()):
            what = "'groups' gives no group any points"
            yield "groups", what, "give at least one group a share above 0"


@dataclass(frozen=True, kw_only=True)
class CodeKey(Key):
    """The hidden cases of a code part and their expected results, read or made when needed."""

    part: Code
    draw: Draw
    starter: str
    examples: tuple[tuple[str, str], ...]
    keep: Keep = field(default=kept_cases.make_anew, compare=False, repr=False)
    """Where cases and expected results are kept."""

    @cached_property
    def solution_functions(self) -> SolutionFunctions:
        """The author's functions, which are run. Raises ValueError, and PackageError as `hidden`
        does."""
        return load_solution_functions(self.part.id, self.draw, self.part.driver, self.tools)

    @cached_property
    def cases(self) -> tuple[HiddenCase, ...]:
        """The hidden cases in the order of their calls. Raises as `hidden`."""
        data = self.keep(self._cases_digest, lambda: self.solution_functions.draw_cases())  # noqa: PLW0108 - loads the solution
        order = self.draw.permutation(f"cases/{self.part.id}", len(data))
        return kept_cases.read_cases(data, self.part.closeness, order)

    @cached_property
    def expected_results(self) -> tuple[Mapping[str, Any], ...]:
        """The expected result of each case as JSON data. Raises as `cases`.

        Either a `value`, the name of the exception that it `raises`, or, if only properties decide,
        a result of the same `form`; None if the author checks the form, or the reference raised.
        """
        results = dict(zip(self._distinct_calls, self._all_expected["wanted"], strict=True))
        return tuple(results[case.call] for case in self.cases)

    def find_broken_property(
        self, case: HiddenCase, raw: Mapping[str, object], want: Mapping[str, object]
    ) -> str | None:
        """Returns the first property that does not hold for a result; None if all hold.

        The form is checked first, so that the author's code meets only results that it was written
        for.
        """
        asks = self._all_expected["asks"]
        why = None
        if "form" in asks and "form" in want:
            why = self.solution_functions.ask("form", case.call, raw)
        elif want.get("form") is not None:
            why = form_difference(decode_result(raw), decode_result(want["form"]), case.near)
        if why is None and "holds" in asks:
            why = self.solution_functions.ask("holds", case.call, raw)
        return why

    def review(self, source: str) -> SourceReview:
        """Returns what the text of a student's code shows. It is kept like the hidden cases.

        Raises NotAnalyzedError.
        """
        if not self.part.forbid and len(source) > analysis.MOST_HERE:
            return SourceReview()  # longer than any starter
        arguments = (source, self.part.id, self.starter, self.part.forbid)
        digest = digest_of_review(*arguments)
        return SourceReview(**self.keep(digest, lambda: analysis.review_source(*arguments)))

    @cached_property
    def _cases_digest(self) -> str:
        return kept_cases.digest_of_cases(self.part.id, self.draw)

    @property
    def _distinct_calls(self) -> tuple[Call, ...]:
        return tuple(dict.fromkeys(case.call for case in self.cases))

    @cached_property
    def _all_expected(self) -> Mapping[str, Any]:
        """The distinct calls' results; see `SolutionFunctions.expected_results`."""
        digest = kept_cases.digest_of_expected(self._cases_digest, self.part.driver, self.tools)
        expected: Mapping[str, Any] = self.keep(
            digest, lambda: self.solution_functions.expected_results(self._distinct_calls)
        )
        return expected

    @property
    def tools(self) -> tuple[str, ...]:
        """The source code of the tools that the part uses."""
        return tuple(tools.source(name) for name in self.part.tools)

    @property
    def needs(self) -> tuple[str, ...]:
        """The packages that a machine needs to run the student's code."""
        return required_packages(self.part, self.draw.solution)

    def call_plan(self, name: str) -> CallPlan:
        """Returns the calls to make, with the visible examples first.

        If a package that the solution needs is missing, the hidden cases are left out; the part is
        deferred anyway.
        """
        examples = tuple(Call(example=example) for example in self.examples)
        try:
            cases = tuple(c.call for c in self.cases) if self.draw.solution else ()
        except PackageError:
            cases = ()
        return CallPlan(
            name=name,
            alias=self.part.id,
            driver=self.part.driver,
            tools=self.tools,
            calls=(*examples, *cases),
            seconds=self.part.seconds,
            device=self.part.device,
            needs=self.needs,
            as_read=bool(self.part.forbid),
            forbid=self.part.forbid,
        )


def required_packages(part: Part, solution: str) -> tuple[str, ...]:
    """Returns the packages that a machine needs to run and judge *part*, given its solution file.

    These are the packages that the part declares and those that its code or the solution imports,
    but not imports inside solution functions that only the gate calls.
    """
    of_part = packages.imported_packages(*(getattr(part, name, "") for name in _CODE_FIELDS))
    tool_sources = (tools.source(name) for name in getattr(part, "tools", ()))
    at_load = packages.imported_packages(
        *tool_sources, *([solution] if isinstance(part, Code) else []), at_load=True
    )
    needed = {*getattr(part, "needs", ()), *of_part, *at_load}
    return tuple(name for name in packages.PACKAGES if name in needed)


_CODE_FIELDS = ("starter", "driver", "setup")
"""The fields of parts that contain Python code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAnswer:
    """A student's code and the results of calling it."""

    source: str
    review: SourceReview = field(default_factory=SourceReview)
    """What the source shows."""
    why_unanalyzed: str = ""
    """Why the source could not be analyzed; empty if it was analyzed."""
    calls: tuple[Mapping[str, object], ...] = ()
    measurement: Mapping[str, object] = field(default_factory=dict)
    """What the measurement of a `measurement` part found; empty if there is none."""
    deferred: str = ""
    """The device or package that the part waits for."""
