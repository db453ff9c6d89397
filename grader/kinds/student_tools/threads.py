"""Threads that share data, run in every order that there is.

    account, lock = Shared(balance=0), Lock()
    found = explore(
        [lambda: deposit(account, lock, 5), lambda: deposit(account, lock, 7)],
        result=lambda: account.balance,
    )
    print(found)

Each read and each write of a field of `Shared`, and each taking and giving back of a `Lock`, is one
step. Between two steps any other thread may go on. `explore` tries all orders of the steps, so what
can go wrong does. The threads are plain functions, and work as they are with `threading.Lock` too.
They must do the same whenever they read the same.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

MOST_STATES = 20_000
MOST_STEPS = 200
"""Of one thread."""


class TooManyStatesError(Exception):
    """The threads have too many steps for all orders to be tried."""


class Explored(NamedTuple):
    """What can come of the threads; for each outcome a way to it, one of the shortest, in words."""

    outcomes: dict[Any, list[str]]
    """The results with which all threads end."""
    deadlocks: dict[str, list[str]]
    """Who waits for whom for ever."""
    errors: dict[str, list[str]]
    """The exceptions that a thread raises; the others go on without it."""

    def __str__(self) -> str:
        lines = []
        for title, ways in (
            ("can end with", self.outcomes),
            ("can stop:", self.deadlocks),
            ("can raise", self.errors),
        ):
            for what, way in ways.items():
                lines += [f"{title} {what}", *(f"    {step}" for step in way)]
        return "\n".join(lines)


class _Stop(BaseException):
    """Ends a thread's turn before its next step."""


class _State(NamedTuple):
    """Where all threads stand. Threads that have read the same stand at the same place."""

    values: frozenset[tuple[Any, Hashable]]
    """What each field and each lock holds that was touched so far."""
    logs: tuple[tuple[Hashable, ...], ...]
    """What the steps of each thread have given."""
    done: tuple[bool, ...]


_turn: "_Turn | None" = None


class _Turn:
    """One thread repeats its steps so far, and makes one more."""

    def __init__(self, state: _State, thread: int, first: dict[Any, Hashable]):
        self.thread, self.values = thread, dict(state.values)
        self.log, self.first = list(state.logs[thread]), first
        self.again = iter(state.logs[thread])
        self.words = ""
        self.wants: Lock | None = None
        self.over = self.done = False

    def run(self, body: Callable[[], Any]) -> str | None:
        """Runs the thread; its exception in words, if it ends in one."""
        global _turn  # noqa: PLW0603  # what fields and locks ask, wherever they are
        _turn, error = self, None
        try:
            body()
        except _Stop:
            return None
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        finally:
            _turn = None
        self.done = True
        return error

    def step(self, make: Callable[[], tuple[Hashable, str]]) -> Hashable:
        """What the step gave before; or what it gives now, if it is the one more."""
        if self.over:  # `with` and `finally`, while the turn ends
            return None
        for given in self.again:
            return given
        if self.words:
            self.stop()
        given, self.words = make()
        self.log.append(given)
        return given

    def stop(self) -> None:
        """Ends the turn."""
        self.over = True
        raise _Stop

    def get(self, key: Any, at_first: Hashable) -> Hashable:
        """What a field or a lock holds."""
        return self.values.setdefault(key, self.first.setdefault(key, at_first))

    def after(self, state: _State) -> _State:
        """Where all threads stand now."""
        logs, done = list(state.logs), list(state.done)
        logs[self.thread], done[self.thread] = tuple(self.log), self.done
        return _State(frozenset(self.values.items()), tuple(logs), tuple(done))


class Shared:
    """Fields that threads share. They hold numbers, texts, tuples: nothing that changes inside."""

    def __init__(self, **fields: Hashable):
        self.__dict__["_fields"] = fields

    def __getattr__(self, name: str) -> Any:
        if name not in self._fields:
            raise AttributeError(f"there is no shared field '{name}'")
        turn = _turn
        if turn is None:
            return self._fields[name]

        def read() -> tuple[Hashable, str]:
            value = turn.get((self, name), self._fields[name])
            return value, f"reads {name}, {value!r}"

        return turn.step(read)

    def __setattr__(self, name: str, value: Hashable) -> None:
        turn = _turn
        if turn is None:
            self._fields[name] = value
            return

        def write() -> tuple[Hashable, str]:
            turn.get((self, name), self._fields.get(name))
            turn.values[self, name] = value
            return None, f"writes {name}, {value!r}"

        turn.step(write)


class Lock:
    """As `threading.Lock`, to be explored."""

    def __init__(self, name: str = "the lock"):
        self.name = name

    def acquire(self) -> bool:
        """Takes the lock, after waiting while it is held, be it by the same thread."""
        turn = _turn
        if turn is not None:
            turn.step(lambda: self._take(turn))
        return True

    def release(self) -> None:
        """Gives the lock back. Raises RuntimeError when it is not held."""
        turn = _turn
        if turn is not None:
            turn.step(lambda: self._give(turn))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _take(self, turn: _Turn) -> tuple[Hashable, str]:
        if turn.get(self, None) is not None:
            turn.wants = self
            turn.stop()
        turn.values[self] = turn.thread
        return None, f"takes {self.name}"

    def _give(self, turn: _Turn) -> tuple[Hashable, str]:
        if turn.get(self, None) is None:
            raise RuntimeError(f"{self.name} is given back, but nobody holds it")
        turn.values[self] = None
        return None, f"gives {self.name} back"


def explore(
    threads: Sequence[Callable[[], Any]], result: Callable[[], Any] = lambda: None
) -> Explored:
    """Tries all orders of the threads' steps. *result* is asked whenever all threads have ended."""
    found = Explored({}, {}, {})
    first: dict[Any, Hashable] = {}
    start = _State(frozenset(), ((),) * len(threads), (False,) * len(threads))
    ways: dict[_State, tuple[_State | None, str]] = {start: (None, "")}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if len(ways) > MOST_STATES or max(map(len, state.logs), default=0) > MOST_STEPS:
            raise TooManyStatesError("too many orders of steps, or a thread that has no end")
        if all(state.done):
            found.outcomes.setdefault(_ended(state, first, result), _way(state, ways))
            continue
        wants: dict[int, Lock] = {}
        for thread, body in enumerate(threads):
            if state.done[thread]:
                continue
            turn = _Turn(state, thread, first)
            error = turn.run(body)
            if turn.wants is not None:
                wants[thread] = turn.wants
                continue
            after = turn.after(state)
            if after not in ways:
                ways[after] = (state, turn.words and f"thread {thread} {turn.words}")
                waiting.append(after)
            if error is not None:
                found.errors.setdefault(error, _way(after, ways))
        if len(wants) == state.done.count(False):
            found.deadlocks.setdefault(_deadlock(state, wants), _way(state, ways))
    return found


def _ended(state: _State, first: dict[Any, Hashable], result: Callable[[], Any]) -> Any:
    """What *result* says when the fields hold what they do in *state*."""
    fields = [key for key in first if isinstance(key, tuple)]
    for values in (dict(state.values), first):
        for shared, name in fields:
            shared._fields[name] = values.get((shared, name), first[shared, name])
        if values is not first:
            value = result()
    return value


def _way(state: _State | None, ways: dict[_State, tuple[_State | None, str]]) -> list[str]:
    steps = []
    while state is not None:
        state, step = ways[state]
        steps.append(step)
    return [step for step in reversed(steps) if step]


def _deadlock(state: _State, wants: dict[int, Lock]) -> str:
    holds = dict(state.values)
    return "; ".join(
        f"thread {thread} waits for {lock.name}, which thread {holds[lock]} holds"
        for thread, lock in wants.items()
    )
