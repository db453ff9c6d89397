"""What every executor must do, whichever it is: the same answers, and one failure stays one."""

from __future__ import annotations

import operator
import time
from concurrent.futures import Executor, as_completed

import pytest

from grader.model import Outcome
from grader.runtime import executors
from grader.runtime.execute import execute
from tests.helpers.notebooks import a_job, a_notebook

SPECS = ["inline", "threads:2", "processes:2", "dask"]


def open_executor(spec: str) -> Executor:
    if spec == "dask":
        pytest.importorskip("distributed")
    return executors.open(spec, 2 if spec == "dask" else None)


@pytest.fixture(params=SPECS, scope="module")
def executor(request: pytest.FixtureRequest):
    with open_executor(request.param) as opened:
        yield opened


def test_every_built_in_executor_is_tested_here() -> None:
    assert {spec.partition(":")[0] for spec in SPECS} == set(executors.executors)


@pytest.mark.thorough
def test_results_do_not_depend_on_the_order_of_completion(executor: Executor) -> None:
    futures = {executor.submit(pow, n, 2): n for n in range(20)}
    assert {futures[f]: f.result() for f in as_completed(futures)} == {n: n * n for n in range(20)}
    assert list(executor.map(operator.neg, range(5))) == [0, -1, -2, -3, -4]


@pytest.mark.thorough
def test_one_task_that_fails_is_one_exception(executor: Executor) -> None:
    bad, good = executor.submit(operator.truediv, 1, 0), executor.submit(operator.truediv, 1, 2)
    assert isinstance(bad.exception(), ZeroDivisionError)
    assert good.result() == 0.5


def test_nothing_is_cached(executor: Executor) -> None:
    first = executor.submit(time.perf_counter_ns).result()
    assert executor.submit(time.perf_counter_ns).result() != first


def test_a_real_notebook_executes_wherever_the_task_runs(executor: Executor) -> None:
    data = a_notebook("q1_x = 6 * 7")
    evidence = executor.submit(execute, a_job("q1_x", data=data), data).result()
    assert evidence.outcome is Outcome.FINISHED
    assert evidence.answers["q1_x"].raw == {"t": "int", "v": "42"}


@pytest.mark.thorough
@pytest.mark.parametrize("spec", SPECS)
def test_after_shutdown_nothing_is_taken_any_more(spec: str) -> None:
    opened = open_executor(spec)
    opened.shutdown(cancel_futures=True)
    with pytest.raises(RuntimeError):
        opened.submit(abs, 1)
