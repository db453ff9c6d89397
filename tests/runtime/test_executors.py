"""Executors by their spec."""

from __future__ import annotations

import operator
import threading
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from grader.errors import SetupError
from grader.runtime import executors


def test_inline_runs_in_the_callers_own_thread_before_it_returns() -> None:
    with executors.open("inline") as executor:
        future = executor.submit(threading.get_ident)
        assert future.done()
        assert future.result() == threading.get_ident()


def test_inline_lets_an_interrupt_through() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), executors.open("inline") as executor:
        executor.submit(interrupted)


def test_threads_are_as_many_as_asked_for() -> None:
    barrier = threading.Barrier(3)
    with executors.open("threads:3") as executor:
        # Each waits for the others, so that with fewer threads this would break the barrier.
        waits = [executor.submit(barrier.wait, 10) for _ in range(3)]
        assert sorted(wait.result() for wait in waits) == [0, 1, 2]


@pytest.mark.parametrize(
    "spec", ["threads:0", "threads:two", "threads:-1", "processes:٣", "threads:9999"]
)
def test_a_number_of_workers_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(SetupError, match="is not a number of workers"):
        executors.open(spec)


def test_an_unknown_executor_is_met_with_the_nearest_name() -> None:
    with pytest.raises(SetupError) as caught:
        executors.open("thread:4")
    assert caught.value.fix == "did you mean 'threads'?"


@pytest.mark.parametrize("spec, jobs", [("threads:8", 2), ("processes:1", 2), ("inline", 3)])
def test_a_spec_and_a_number_of_jobs_that_contradict_are_refused(spec: str, jobs: int) -> None:
    with pytest.raises(SetupError, match="contradict each other") as caught:
        executors.open(spec, jobs)
    assert f"--executor threads --jobs {jobs}" in str(caught.value.fix)


@pytest.mark.parametrize(
    "spec, jobs, workers", [("threads", 3, 3), ("threads:3", 3, 3), ("threads:4", None, 4)]
)
def test_the_number_of_workers_is_given_either_way(
    spec: str, jobs: int | None, workers: int
) -> None:
    assert executors.parse(spec, jobs).jobs == workers


def test_another_executor_plugs_in_by_name_and_gets_what_stands_after_the_colon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[tuple[str, int]] = []

    def cluster(address: str, jobs: int) -> Executor:
        opened.append((address, jobs))
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(executors.executors, "_registered", {"cluster": cluster})
    with executors.open("cluster:tcp://host:8786", 5) as executor:
        assert executor.submit(operator.add, 1, 2).result() == 3
    assert opened == [("tcp://host:8786", 5)]
