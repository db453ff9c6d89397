"""Runs the cells of one notebook: limits, restarts, replays, and the answers at the end."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from grader.model import Answer, CellRun, Job, Outcome, Raw
from grader.notebook import Cell
from grader.runtime.execute.calls import MOST_DEATHS, add_call_results
from grader.runtime.execute.deferral import missing_requirement
from grader.runtime.execute.reasons import CodeCell, Reasons, add_limit
from grader.runtime.kernels import (
    MOST_TIMES,
    AskReply,
    CellResult,
    NotStartedError,
    Session,
)
from grader.runtime.kernels.base import StepResult

MAX_RESTARTS = 3
DIED_TOO_OFTEN = "because the kernel died too many times"
ASK_SECONDS = 10.0
"""For the kernel to report the values of names."""
TOO_LATE = f"reading the answer took longer than {ASK_SECONDS:g} s"
PREPARE_SECONDS = 60.0
"""For each piece of code that runs before the first cell."""
FREE_ASKING_SECONDS = 30.0
"""Time for reading answers that is not counted against the notebook."""

WHOLE = ""
"""Key that stands for every answer of a run."""
BUSY_THROUGHOUT = "the notebook hit its time limit while the machine was busy with other work"

_KEPT_CELLS = 16
"""Limit on the kept output of a whole notebook, in multiples of the limit for one cell."""
_SEVERITY = (Outcome.FINISHED, Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED)


class NotebookRun:
    """One run of one notebook, in as many kernels as it needs, up to a limit."""

    def __init__(
        self,
        job: Job,
        cells: Sequence[Cell],
        session: Session,
        phrases: Mapping[str, str],
        before: Sequence[str],
    ):
        self._job = job
        self._before = before
        self._phrases = phrases
        self._session = session
        code = ((i, c.source) for i, c in enumerate(cells) if c.type == "code" and c.source.strip())
        # Numbered as Jupyter numbers them after Run All: empty cells don't count.
        self._code = [CodeCell(n, i, source) for n, (i, source) in enumerate(code, start=1)]
        self._runs: dict[int, CellRun] = {}
        self._cell_values: dict[str, Raw] = {}
        """The answers so far, as they were after the cells that mention them."""
        self._final_values: Mapping[str, Raw] = {}
        """The answers in the last kernel at the end."""
        self._garbled_names: frozenset[str] = frozenset()
        self._end = time.monotonic() + job.limits.notebook_seconds
        self._free_seconds = FREE_ASKING_SECONDS
        self._extension_left = (MOST_TIMES - 1) * job.limits.notebook_seconds
        self._room = job.limits.output_bytes * _KEPT_CELLS
        self._alive = True
        self._has_run_all = True
        self._failed_replays: set[int] = set()
        self._deaths = 0
        self.answers: dict[str, Answer] = {}
        """An answer for every requested name, with the reason if it has no value."""
        self.restarts = 0
        self.disturbed: dict[str, str] = {}
        """How other work interfered with the run, by affected answer; WHOLE stands for all."""
        self.cut_short: dict[str, str] = {}
        """The answers that a limit of the grader kept from being found or read, and which limit."""
        self.given_up: set[int] = set()
        """The cells, counted from 0, that were not run because kernels died too many times."""
        self.shown: dict[int, tuple[tuple[str, ...], ...]] = {}
        """The outputs of each cell, counted from 0, in the form of `CellResult.visible_outputs`."""

    def run_all(self) -> None:
        """Runs every cell and reads every name. Raises NotStartedError if no kernel can run."""
        self._run_setup_code()
        for code in self._code:
            if self.seconds_left() <= 0:
                used_up = f"because the notebook reached {self._time_limit_phrase()}"
                self._record_not_run(code, Outcome.TIMEOUT, used_up)
            elif not self._revive_for_cell(code.number):
                self._record_not_run(code, Outcome.CRASHED, DIED_TOO_OFTEN)
                self._give_up(code)
            else:
                self._run_cell(code)
        self._read_at_end()
        self.answers = self._collect_answers()
        if self._job.call_plans:
            self._call_functions()

    @property
    def cells(self) -> tuple[CellRun, ...]:
        """How every code cell went."""
        return tuple(self._runs.values())

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of any cell."""
        return max((run.outcome for run in self.cells), key=_SEVERITY.index, default=_SEVERITY[0])

    @property
    def note(self) -> str | None:
        """What went wrong in up to three cells that did not finish; None if all finished."""
        runs = ((code.number, self._runs[code.number]) for code in self._code)
        failed = [
            f"code cell {number} {'stopped with ' if run.line else ''}{run.error}"
            for number, run in runs
            if run.outcome is not Outcome.FINISHED
        ]
        more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
        return "; ".join(failed[:3]) + more or None

    def _collect_answers(self) -> dict[str, Answer]:
        """Returns the answers by name, with the reason for each missing value."""
        raws = self._merge_values()
        reasons = Reasons(self._code, self._runs, self._job.names)
        answers: dict[str, Answer] = {}
        for name in self._job.names:
            raw, absent = raws.get(name), None
            if raw is None and name in self._garbled_names:
                absent = f"the kernel's reply about {name} could not be read"
            elif raw is None:
                absent = reasons.reason_for(name)
            answers[name] = Answer(name=name, raw=raw, absent=absent)
        return answers

    def _merge_values(self) -> dict[str, Raw]:
        """Returns the values read after cells and at the end; of two, the more reliable one."""
        values, final_values = self._cell_values, self._final_values
        if not self.restarts and self._alive:
            garbled = self._garbled_names & values.keys()
            return {**{name: values[name] for name in garbled}, **final_values}
        if self._has_run_all and self._alive:
            return {**values, **final_values}
        # The last kernel has not run every cell, so values seen earlier take precedence.
        return {**final_values, **values}

    # -- one cell

    def seconds_left(self) -> float:
        """Returns the seconds until the current time limit."""
        return self._end - time.monotonic()

    def record_contention(self, step: StepResult, what: str, name: str = WHOLE) -> None:
        """Records how other work on the machine interfered with a step of the answer *name*.

        Extends the notebook's time by the time for which the kernel was kept waiting.
        """
        extension = min(step.wait_seconds, self._extension_left)
        self._extension_left -= extension
        self._end += extension
        if step.disturbance:
            self.disturbed.setdefault(name, f"{what} {step.disturbance}")
        elif extension < step.wait_seconds and self.seconds_left() <= 0:
            self.disturbed.setdefault(name, BUSY_THROUGHOUT)

    def _time_limit_phrase(self) -> str:
        return f"its time limit of {self._job.limits.notebook_seconds:g} s"

    def _run_cell(self, code: CodeCell) -> None:
        """Runs one cell, records how it went, and reads the answers that it mentions."""
        limits = self._job.limits
        seconds_left = self.seconds_left()
        keep = max(min(limits.output_bytes, self._room), 0)
        # A kernel may die at any moment, so read the names that a cell mentions right after it.
        words = set(re.findall(r"\w+", code.source))
        mentioned = tuple(name for name in self._job.names if name in words)
        ran = self._session.run(
            code.source, seconds=min(limits.cell_seconds, seconds_left), keep=keep
        )
        self.record_contention(ran, f"code cell {code.number}")
        self._alive = ran.alive
        self._room -= len(ran.output)
        stopped = ran.outcome is not Outcome.FINISHED
        self.shown[code.index] = (
            (*ran.visible_outputs, ("error",)) if stopped else ran.visible_outputs
        )
        self._runs[code.number] = CellRun(
            index=code.index,
            outcome=ran.outcome,
            seconds=ran.seconds,
            error=self._describe_error(ran, seconds_left),
            line=ran.line,
            output=ran.output,
        )
        if self._alive and mentioned:
            self._read_after_cell(mentioned)

    def _describe_error(self, ran: CellResult, left: float) -> str | None:
        """Returns why a cell failed, or None; *left* were the notebook's seconds before the
        cell."""
        memory = self._job.limits.memory_bytes
        if ran.outcome is Outcome.OUT_OF_MEMORY and memory is not None and not ran.disturbance:
            return f"{ran.error} (limit: {memory / 1e9:g} GB of memory)"
        if ran.error is not None:
            return add_limit(ran.error, self._phrases)
        if ran.outcome is not Outcome.TIMEOUT:
            return None
        if left < self._job.limits.cell_seconds:
            return f"was stopped because the notebook reached {self._time_limit_phrase()}"
        return f"ran longer than {self._job.limits.cell_seconds:g} s"

    def _record_not_run(self, code: CodeCell, outcome: Outcome, why: str) -> None:
        """Records that a cell was not run; *why* begins with "because"."""
        self._runs[code.number] = CellRun(
            index=code.index, outcome=outcome, seconds=0.0, error=f"was not run {why}"
        )
        self.shown[code.index] = (("error",),)

    def _give_up(self, code: CodeCell) -> None:
        """Records answers that *code* might have set, and those that calls decide, as cut short."""
        self.given_up.add(code.index)
        words = set(re.findall(r"\w+", code.source))
        called = {call_plan.name for call_plan in self._job.call_plans}
        for name in self._job.names:
            if name in words or name in called:
                self.cut_short[name] = f"code cell {code.number} was not run {DIED_TOO_OFTEN}"

    def _run_setup_code(self) -> None:
        """Runs the setup code in a new kernel. Raises NotStartedError if any of it fails."""
        for source in self._before:
            ran = self._session.run(source, seconds=PREPARE_SECONDS, keep=0)
            if ran.error is not None or ran.outcome is not Outcome.FINISHED:
                raise NotStartedError("the assignment's files could not be copied to its folder")

    # -- kernels that died

    def _revive_for_cell(self, before: int) -> bool:
        """Returns whether a kernel is alive; starts one that replays the cells before *before*."""
        while not self._alive and self.restarts < MAX_RESTARTS and self.seconds_left() > 0:
            self.restarts += 1
            self._restart()
            self._has_run_all = self._replay_cells(before)
        return self._alive

    def _restart(self) -> None:
        """Starts a new kernel, at the second attempt if the first fails. Raises NotStartedError."""
        try:
            self._session.restart()
        except NotStartedError:
            self._session.restart()
        self._alive = True

    def _replay_cells(self, before: int) -> bool:
        """Runs finished cells again in a new kernel; returns whether all of them finished again."""
        self._run_setup_code()
        all_finished = True
        for code in self._code[: before - 1]:
            run = self._runs[code.number]
            if run.outcome is not Outcome.FINISHED:
                continue
            if code.number in self._failed_replays or self.seconds_left() <= 0 or not self._alive:
                all_finished = False
                continue
            seconds = min(self._job.limits.cell_seconds, self.seconds_left())
            ran = self._session.run(code.source, seconds=seconds, keep=0)
            self.record_contention(ran, f"code cell {code.number}")
            self._alive = ran.alive
            if ran.outcome is not Outcome.FINISHED:
                self._failed_replays.add(code.number)
                all_finished = False
        return all_finished

    # -- calls of what was defined

    def _call_functions(self) -> None:
        """Adds to the answers the results of calling the functions that the notebook defines."""
        # A separate time limit: a slow notebook must not keep its functions from being called.
        self._end = time.monotonic() + self._job.limits.notebook_seconds
        self._extension_left = (MOST_TIMES - 1) * self._job.limits.notebook_seconds
        code = [each.source for each in self._code]
        for call_plan in self._job.call_plans:
            if call_plan.name in self.answers and not (
                call_plan.benchmark and call_plan.benchmark.alone
            ):
                self._deaths = 0  # deaths caused by one function must not affect another
                answer = self.answers[call_plan.name]
                missing = missing_requirement(call_plan, self._job.device)
                self.answers[call_plan.name] = add_call_results(
                    call_plan, answer, code, self._session, self, deferred=missing
                )

    def revive_kernel(self) -> bool:
        """Returns whether a kernel has run the whole notebook; starts one if needed."""
        while not self._alive and self._deaths <= MOST_DEATHS and self.seconds_left() > 0:
            self._restart()
            self._replay_cells(len(self._code) + 1)
            self._deaths += not self._alive
        return self._alive

    def record_death(self) -> None:
        """Records that a call has ended the kernel."""
        self._alive = False
        self._deaths += 1

    # -- answers

    def _read_names(self, names: tuple[str, ...]) -> AskReply:
        """Returns the reply about *names*, and records if reading them was late or disturbed."""
        began = time.monotonic()
        reply = self._session.ask(names, seconds=ASK_SECONDS)
        if reply.disturbance:
            self.disturbed.setdefault(WHOLE, f"reading the answers {reply.disturbance}")
        for name in names:
            if reply.late:
                self.cut_short.setdefault(name, TOO_LATE)
            elif self.cut_short.get(name) == TOO_LATE:
                del self.cut_short[name]
        self._alive = reply.alive
        free = min(time.monotonic() - began, self._free_seconds)
        self._free_seconds -= free
        self._end += free
        return reply

    def _read_after_cell(self, names: tuple[str, ...]) -> None:
        """Replaces the values of *names* with those that they have after a cell."""
        reply = self._read_names(names)
        for name in names:
            self._cell_values.pop(name, None)
        self._cell_values.update(reply.values)
        self._garbled_names = self._garbled_names - frozenset(names) | reply.garbled_names

    def _read_at_end(self) -> None:
        """Reads all names once the cells have run, in a new kernel if needed and useful."""
        names = self._job.names
        if not self._alive and all(name in self._cell_values for name in names):
            return
        if names and self._revive_for_cell(len(self._code) + 1):
            reply = self._read_names(names)
            self._final_values, self._garbled_names = reply.values, reply.garbled_names
