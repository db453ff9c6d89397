"""Threads in every order: what can come of them, and how it comes about."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from grader.kinds import student_tools
from grader.kinds.student_tools.threads import Lock, Shared, TooManyStatesError, explore
from grader.wire import calls, encoding


def adds(counter: Shared, times: int) -> None:
    for _ in range(times):
        counter.value += 1


def adds_locked(counter: Shared, lock: Lock, times: int) -> None:
    for _ in range(times):
        with lock:
            counter.value += 1


def by_hand(times: tuple[int, ...]) -> set[int]:
    """The values that threads of reads and writes can leave, order by order."""
    steps = [thread for thread, n in enumerate(times) for _ in range(2 * n)]
    found = set()
    for order in set(itertools.permutations(steps)):
        value, held, turn = 0, {}, dict.fromkeys(range(len(times)), 0)
        for thread in order:
            if turn[thread] % 2 == 0:
                held[thread] = value
            else:
                value = held[thread] + 1
            turn[thread] += 1
        found.add(value)
    return found


@pytest.mark.parametrize("times", [(1, 1), (2, 1), (2, 2), (1, 1, 1), (2, 1, 1)])
def test_all_outcomes_of_a_lost_update_are_found_and_no_others(times: tuple[int, ...]) -> None:
    counter = Shared(value=0)
    found = explore([partial(adds, counter, n) for n in times], lambda: counter.value)
    assert set(found.outcomes) == by_hand(times)
    assert not found.deadlocks
    assert not found.errors
    assert counter.value == 0


def test_four_increments_against_four_can_leave_two() -> None:
    counter = Shared(value=0)
    found = explore([lambda: adds(counter, 4)] * 2, lambda: counter.value)
    assert set(found.outcomes) == set(range(2, 9))


def test_a_lock_leaves_one_outcome() -> None:
    counter, lock = Shared(value=0), Lock()
    found = explore([lambda: adds_locked(counter, lock, 2)] * 3, lambda: counter.value)
    assert (set(found.outcomes), found.deadlocks, found.errors) == ({6}, {}, {})


def test_the_way_to_an_outcome_leads_there() -> None:
    counter = Shared(value=0)
    found = explore([lambda: adds(counter, 2)] * 2, lambda: counter.value)
    for outcome, way in found.outcomes.items():
        value = 0
        for step in way:
            _, _, does, name, number = step.split()
            assert name == "value,"
            if does == "writes":
                value = int(number)
            else:
                assert int(number) == value
        assert value == outcome
    assert "can end with 2\n    thread " in str(found)


def swaps(first: Lock, second: Lock) -> Callable[[], None]:
    def thread() -> None:
        with first, second:
            pass

    return thread


def test_a_deadlock_is_told_with_its_locks_and_the_shortest_way_into_it() -> None:
    a, b = Lock("a"), Lock("b")
    found = explore([swaps(a, b), swaps(b, a)])
    (what,) = found.deadlocks
    assert what == (
        "thread 0 waits for b, which thread 1 holds; thread 1 waits for a, which thread 0 holds"
    )
    assert sorted(found.deadlocks[what]) == ["thread 0 takes a", "thread 1 takes b"]
    assert None in found.outcomes  # it need not come to that
    assert not explore([swaps(a, b), swaps(a, b)]).deadlocks


def test_a_lock_that_is_taken_twice_or_kept_stops_everything() -> None:
    lock = Lock("it")
    twice = explore([swaps(lock, lock)])
    assert list(twice.deadlocks) == ["thread 0 waits for it, which thread 0 holds"]
    kept = explore([lock.acquire, lock.acquire])
    assert set(kept.deadlocks) == {
        "thread 1 waits for it, which thread 0 holds",
        "thread 0 waits for it, which thread 1 holds",
    }
    assert not kept.outcomes


def test_an_exception_in_some_order_is_found_and_gives_locks_back_as_python_does() -> None:
    pot, lock = Shared(left=1), Lock()

    def takes() -> None:
        with lock:
            if pot.left == 0:
                raise ValueError("empty")
            pot.left -= 1

    found = explore([takes, takes], lambda: pot.left)
    assert list(found.errors) == ["ValueError: empty"]
    assert (set(found.outcomes), found.deadlocks) == ({0}, {})


def test_a_lock_that_nobody_holds_cannot_be_given_back() -> None:
    lock = Lock()
    assert list(explore([lock.release]).errors) == [
        "RuntimeError: the lock is given back, but nobody holds it"
    ]


def test_without_explore_fields_and_locks_work_as_usual() -> None:
    counter, lock = Shared(value=1), Lock()
    adds_locked(counter, lock, 3)
    assert counter.value == 4
    counter.more = 7
    assert counter.more == 7
    with pytest.raises(AttributeError, match="no shared field 'less'"):
        _ = counter.less


def test_no_threads_and_threads_without_steps_end_at_once() -> None:
    assert explore([], lambda: 5).outcomes == {5: []}
    assert explore([lambda: None] * 3).outcomes == {None: []}


def test_too_many_orders_are_refused_and_not_waited_for() -> None:
    counter = Shared(value=0)

    def spins() -> None:
        while counter.value == 0:
            pass

    with pytest.raises(TooManyStatesError):
        explore([spins])


def test_the_text_runs_as_a_driver_beside_a_students_function() -> None:
    asked: dict[str, Any] = {
        "name": "q1_f",
        "seed": 1,
        "tools": [student_tools.source("threads")],
        "driver": "def drive(answer):\n    c, lock = Shared(value=0), Lock()\n"
        "    found = explore([lambda: answer(c, lock)] * 2, lambda: c.value)\n"
        "    return [sorted(found.outcomes), bool(found.deadlocks)]",
        "inputs": {},
    }

    def outcomes(body: str) -> Iterator[Any]:
        space: dict[str, Any] = {}
        exec(f"def q1_f(c, lock):\n    {body}", space)
        said = calls.perform_safely(asked, space)
        assert said["is"] == "returned", said
        yield from encoding.decode_input(said["v"])

    assert list(outcomes("c.value += 1")) == [[1, 2], False]
    assert list(outcomes("lock.acquire()\n    c.value += 1\n    lock.release()")) == [[2], False]
    assert list(outcomes("lock.acquire()\n    c.value += 1")) == [[], True]
