"""What the warps of a launch cost: sectors, bank conflicts, atomics, divergence.

    warps = Warps()
    launch(kernel, grid, block, x, y, recorder=warps)
    print(warps)

It goes with the tool `cuda`. A *request* is one instruction of one warp, for the lanes that do it:
the n-th access of a lane at some place in the code, since the last barrier, belongs together with
the n-th access of the other lanes there.
"""

import dis
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

LANES = 32
SECTOR = 32
"""Bytes that move together between global memory and the chip."""
BANKS = 32
"""Banks of shared memory, each 4 bytes wide."""


class Request(NamedTuple):
    """One instruction of one warp that uses an array."""

    array: str
    """The kernel's parameter; `shared 0`, `shared 1` and so on in shared memory."""
    kind: str
    """`load`, `store` or `atomic`."""
    size: int
    """Bytes of an element."""
    lanes: dict[int, int]
    """For each active lane, the element that it uses."""


class Cost(NamedTuple):
    """The cost of some requests."""

    requests: int = 0
    accesses: int = 0
    """Of single lanes, so at most 32 a request."""
    sectors: int = 0
    """Of global memory, each counted once a request."""
    passes: int = 0
    """Turns of the banks of shared memory: one a request, more when lanes need different words of
    a bank. Of atomics, as many as lanes of a request meet at one element."""


def sectors(request: Request) -> int:
    """How many sectors of global memory a request touches."""
    if request.array.startswith("shared "):
        return 0
    return len({at * request.size // SECTOR for at in request.lanes.values()})


def passes(request: Request) -> int:
    """How many turns a request takes; 8-byte elements in shared memory go by half warps."""
    if request.kind == "atomic":
        return max(Counter(request.lanes.values()).values())
    if not request.array.startswith("shared "):
        return 0
    words = max(1, request.size // 4)
    group = LANES // words
    return sum(
        bank_passes(
            at * request.size // 4 + word
            for lane, at in request.lanes.items()
            if first <= lane < first + group
            for word in range(words)
        )
        for first in range(0, LANES, group)
    )


def bank_passes(words: Iterable[int]) -> int:
    """How many turns some 4-byte words take. Lanes that need the same word share one."""
    return max(Counter(word % BANKS for word in set(words)).values(), default=0)


class Warps:
    """Notes what the lanes of each warp do together; with *branches*, also how they decide."""

    def __init__(self, *, branches: bool = False):
        self._branches = branches
        self._times: dict[Any, int] = {}  # of one thread since its last barrier
        self._requests: dict[Any, Request] = {}
        self._ways: dict[Any, Counter[int]] = {}
        self._codes: dict[int, _Code] = {}

    @property
    def requests(self) -> list[Request]:
        """All requests."""
        return list(self._requests.values())

    @property
    def branches(self) -> int:
        """How often a warp came to an if, a loop's test, or another decision."""
        return len(self._ways)

    @property
    def divergent(self) -> int:
        """How often its active lanes did not all decide the same."""
        return sum(len(ways) > 1 for ways in self._ways.values())

    def cost(self, array: str = "", kind: str = "") -> Cost:
        """Of the requests to arrays whose name begins so (`shared` for all shared memory)."""
        found = [
            request
            for request in self._requests.values()
            if request.array.startswith(array) and kind in ("", request.kind)
        ]
        return Cost(
            requests=len(found),
            accesses=sum(len(request.lanes) for request in found),
            sectors=sum(map(sectors, found)),
            passes=sum(map(passes, found)),
        )

    def __str__(self) -> str:
        pairs = dict.fromkeys((r.array, r.kind) for r in self._requests.values())
        lines = [f"{array}, {kind}: {self.cost(array, kind)}" for array, kind in pairs]
        if self._branches:
            lines.append(f"{self.branches} decisions of warps, {self.divergent} of them divergent")
        return "\n".join(lines)

    def access(
        self, machine: Any, store: Any, at: int, kind: str, frames: Iterator[FrameType]
    ) -> None:
        """Notes one access of the thread that runs."""
        where = [(id(f.f_code), self._code(f.f_code).positions[f.f_lasti // 2]) for f in frames]
        key = self._key(machine, (store.name, kind, *where))
        request = self._requests.get(key)
        if request is None:
            request = self._requests[key] = Request(store.name, kind, store.data.itemsize, {})
        request.lanes[machine.thread.number % LANES] = at

    def start(self, machine: Any, frames: Iterable[FrameType]) -> None:
        """A thread begins, or goes on after a barrier in these calls."""
        self._times.clear()
        if self._branches:
            for frame in frames:
                frame.f_trace = self._follow(machine, frame)
            sys.settrace(lambda frame, *_: self._follow(machine, frame))

    def stop(self) -> None:
        """The thread has ended, or has come to a barrier."""
        if self._branches:
            sys.settrace(None)

    def _key(self, machine: Any, place: Any) -> Any:
        """What the lanes of a warp have in common that do the same thing together."""
        thread, time = machine.thread, self._times.get(place, 0)
        self._times[place] = time + 1
        return (machine.number, thread.number // LANES, thread.passed, time, place)

    def _follow(self, machine: Any, frame: FrameType) -> Any:
        """What watches the decisions of one call, unless it is of the simulator's own."""
        code, caller = frame.f_code, frame.f_back
        if _own(code, machine) or caller is None:
            return None
        if caller.f_trace is None and caller.f_code is not machine.turn.__code__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        jumps = self._code(code).jumps
        decided: list[int] = []

        def step(frame: FrameType, event: str, _: object) -> Any:
            if event == "opcode":
                if decided:
                    key = self._key(machine, (id(code), decided.pop()))
                    self._ways.setdefault(key, Counter())[frame.f_lasti] += 1
                if frame.f_lasti in jumps:
                    decided.append(frame.f_lasti)
            return step

        return step

    def _code(self, code: CodeType) -> "_Code":
        if id(code) not in self._codes:
            self._codes[id(code)] = _Code(code)
        return self._codes[id(code)]


def _own(code: CodeType, machine: Any) -> bool:
    """Whether it is of the simulator, and not of the kernel."""
    return code.co_filename in (machine.turn.__code__.co_filename, _own.__code__.co_filename)


class _Code:
    """Of a function's instructions: where each stands in the text, and which ones decide."""

    def __init__(self, code: CodeType):
        self.code = code  # kept, so that no other gets its id
        self.positions = list(code.co_positions())
        self.jumps = {i.offset for i in dis.get_instructions(code) if _decides(i.opname)}


def _decides(name: str) -> bool:
    return name == "FOR_ITER" or ("JUMP" in name and "_IF_" in name)
