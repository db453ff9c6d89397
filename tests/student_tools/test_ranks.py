"""Real processes for problems about collectives: what they return, what is noted, how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")

from grader.kinds import student_tools  # noqa: E402
from grader.kinds.student_tools import ranks  # noqa: E402
from grader.kinds.student_tools.ranks import (  # noqa: E402
    DeadlockError,
    RankFailedError,
    RankHungError,
    run_ranks,
)
from grader.model import Call, CallPlan, Limits, Outcome  # noqa: E402
from grader.runtime.sandbox import choose_sandbox  # noqa: E402
from tests.helpers.notebooks import run  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

WALLED = choose_sandbox("auto").sandbox.plan()["view"] is not None


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for by its parent or not yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Requires that the processes that a test forks and the folders of its ranks are gone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    fork, forked = os.fork, []

    def noted_fork() -> int:
        pid = fork()
        if pid:
            forked.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted_fork)
    yield
    assert all(map(gone, forked))
    assert not list(folder.glob("ranks-*"))


def swap(x: Any) -> Any:
    other = 1 - dist.get_rank()
    arrived = torch.empty_like(x)
    going = dist.isend(x, other)
    dist.recv(arrived, other)
    going.wait()
    return arrived


# -- what comes back


def test_each_rank_gets_its_own_arguments_and_results_come_back_in_order() -> None:
    def double(rank: int, x: Any) -> Any:
        return {"rank": (rank, dist.get_rank(), dist.get_world_size()), "x": [2 * x, None, "t"]}

    tensors = [torch.full((2,), float(n), dtype=torch.float64) for n in range(3)]
    found = run_ranks(double, 3, range(3), tensors)
    assert [one.result["rank"] for one in found] == [(0, 0, 3), (1, 1, 3), (2, 2, 3)]
    assert [one.result["x"][0].tolist() for one in found] == [[0, 0], [2, 2], [4, 4]]
    assert found[2].result["x"][0].dtype == torch.float64
    assert found[2].result["x"][1:] == [None, "t"]


def test_messages_and_gradients_work_after_the_first_process_has_used_threads_and_autograd() -> (
    None
):
    weight = torch.randn(300, 300, requires_grad=True)
    (weight @ weight).sum().backward()

    def gradient(x: Any) -> Any:
        own = x.clone().requires_grad_()
        (own @ own).sum().backward()
        dist.all_reduce(own.grad)
        return own.grad

    found = run_ranks(gradient, 2, [weight.detach(), weight.detach()])
    assert torch.allclose(found[0].result, 2 * weight.grad, rtol=1e-3, atol=1e-3)
    assert torch.equal(found[0].result, found[1].result)


def test_what_ranks_print_appears_with_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    def speak(rank: int) -> None:
        print("I am\nrank", rank)

    run_ranks(speak, 2, range(2))
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "[rank 0] I am", "[rank 0] rank 0", "[rank 1] I am", "[rank 1] rank 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("world", "each"), [(0, []), (9, []), (2, [[1]]), (2, [[1, 2], [1, 2, 3]])]
)
def test_arguments_that_do_not_fit_the_ranks_are_an_error(world: int, each: list[Any]) -> None:
    with pytest.raises(ValueError, match="1 to 8 ranks"):
        run_ranks(print, world, *each)


# -- what is noted


def test_every_call_is_noted_with_its_peer_and_its_bytes() -> None:
    found = run_ranks(swap, 2, [torch.zeros(5), torch.ones(5)])
    assert [one.result.tolist() for one in found] == [[1] * 5, [0] * 5]
    assert found[0].calls == [("send", 1, 20), ("recv", 1, 20)]
    assert found[1].calls == [("send", 0, 20), ("recv", 0, 20)]
    assert (found[0].size("send"), found[0].count("recv"), found[0].count("all_reduce")) == (
        20,
        1,
        0,
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")  # newer releases have newer names for some
def test_collectives_are_noted_under_one_name_whichever_variant_was_called() -> None:
    from torch.distributed import all_reduce as by_another_name

    def all_of_them(x: Any) -> None:
        world, rank = dist.get_world_size(), dist.get_rank()
        by_another_name(x)
        dist.broadcast(x, 1)
        dist.reduce(x, 0)
        parts, part = list(x.chunk(world)), torch.empty(2)
        dist.all_gather([torch.empty(2) for _ in range(world)], part)
        dist.all_gather_into_tensor(torch.empty(2 * world), part)
        dist.reduce_scatter(part, parts)
        dist.reduce_scatter_tensor(part, x)
        dist.all_to_all_single(torch.empty(2 * world), x)
        dist.gather(part, [torch.empty(2) for _ in range(world)] if rank == 0 else None)
        dist.scatter(part, parts if rank == 0 else None)
        dist.barrier()

    found = run_ranks(all_of_them, 2, [torch.ones(4), torch.ones(4)])
    assert [(name, size) for name, _, size in found[0].calls] == [
        ("all_reduce", 16), ("broadcast", 16), ("reduce", 16), ("all_gather", 8), ("all_gather", 8),
        ("reduce_scatter", 16), ("reduce_scatter", 16), ("all_to_all", 16), ("gather", 8),
        ("scatter", 16), ("barrier", 0),
    ]  # fmt: skip
    assert found[1].calls[-2] == ("scatter", -1, 0)
    assert {peer for _, peer, _ in found[0].calls} == {-1}


def test_objects_and_batches_are_noted_as_what_they_send() -> None:
    def both(x: Any) -> Any:
        rank, world = dist.get_rank(), dist.get_world_size()
        objects: list[Any] = [None] * world
        dist.all_gather_object(objects, "x" * 1000)
        inbox = torch.empty_like(x)
        ops = [
            dist.P2POp(dist.isend, x, (rank + 1) % world),
            dist.P2POp(dist.irecv, inbox, (rank - 1) % world),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return inbox

    found = run_ranks(both, 3, list(torch.eye(3)))
    assert [one.result.argmax().item() for one in found] == [2, 0, 1]
    assert found[1].size("all_gather") > 1000
    assert found[1].calls[-2:] == [("send", 2, 12), ("recv", 0, 12)]


@pytest.mark.thorough
def test_peers_in_a_smaller_group_are_told_by_their_number_in_the_world() -> None:
    def in_pairs(x: Any) -> Any:
        pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
        mine = pairs[dist.get_rank() % 2]
        if dist.get_rank() < 2:
            dist.send(x, dist.get_rank() + 2, group=mine)
        else:
            dist.recv(x, dist.get_rank() - 2, group=mine)
        dist.all_reduce(x, group=mine)
        return x

    found = run_ranks(in_pairs, 4, [torch.full((1,), float(n)) for n in range(4)])
    assert [one.result.item() for one in found] == [0, 2, 0, 2]
    assert found[3].calls == [("recv", 1, 4), ("all_reduce", -1, 4)]


# -- when nobody can go on


def receives_first(x: Any) -> None:
    dist.recv(x, 1 - dist.get_rank())
    dist.send(x, 1 - dist.get_rank())


def sends_first(x: Any) -> None:
    dist.send(x, 1 - dist.get_rank())
    dist.recv(x, 1 - dist.get_rank())


def one_stays_away(x: Any) -> None:
    if dist.get_rank() == 0:
        dist.all_reduce(x)


def different_collectives(x: Any) -> None:
    dist.barrier()
    if dist.get_rank() == 0:
        dist.broadcast(x, 0)
    else:
        dist.all_reduce(x)


def different_tags(x: Any) -> None:
    if dist.get_rank() == 0:
        dist.send(x, 1, tag=7)
    else:
        dist.recv(x, 0, tag=8)


def never_waited_for(x: Any) -> None:
    dist.isend(x, 1 - dist.get_rank())
    dist.barrier()
    for _ in range(2):
        dist.recv(x, 1 - dist.get_rank())


@pytest.mark.parametrize(
    ("function", "first", "other"),
    [
        (receives_first, "was still in recv from rank 1", "was still in recv from rank 0"),
        (sends_first, "was still in send to rank 1", "was still in send to rank 0"),
        (one_stays_away, "was still in all_reduce", "had returned"),
        (different_collectives, "was still in broadcast", "was still in all_reduce"),
        (different_tags, "was still in send to rank 1", "was still in recv from rank 0"),
        (never_waited_for, "was still in recv from rank 1", "was still in recv from rank 0"),
    ],
)
def test_a_deadlock_names_every_rank_and_what_it_waits_for(
    function: Callable[..., None], first: str, other: str
) -> None:
    with pytest.raises(DeadlockError) as caught:
        run_ranks(function, 2, [torch.zeros(3), torch.zeros(3)])
    assert str(caught.value) == f"rank 0 {first}, and nobody could go on; rank 1 {other}"


@pytest.mark.thorough
def test_waiting_for_somebody_slow_is_no_deadlock() -> None:
    def late(x: Any) -> Any:
        if dist.get_rank() == 1:
            time.sleep(3 * ranks.QUIET)
            dist.send(x, 0)
            time.sleep(3 * ranks.QUIET)
        else:
            dist.recv(x, 1)
        dist.all_reduce(x)
        return x

    found = run_ranks(late, 2, [torch.zeros(1), torch.ones(1)])
    assert [one.result.item() for one in found] == [2, 2]


def test_whoever_receives_from_anybody_is_not_taken_for_stuck() -> None:
    def collect(x: Any) -> Any:
        if dist.get_rank():
            dist.send(x, 0)
            dist.recv(x, 0)
            return x
        time.sleep(2 * ranks.QUIET)
        got = torch.empty_like(x)
        for _ in range(2):
            dist.recv(got)
            x = x + got
        for other in (1, 2):
            dist.send(x, other)
        return x

    found = run_ranks(collect, 3, [torch.full((1,), float(n)) for n in range(3)])
    assert [one.result.item() for one in found] == [3, 3, 3]


# -- when a rank fails


def raises_in_one(x: Any) -> None:
    if dist.get_rank() == 1:
        raise IndexError("out of chunks")
    dist.recv(x, 1)


def dies_in_one(x: Any) -> None:
    if dist.get_rank() == 1:
        os._exit(3)
    dist.recv(x, 1)


def sends_too_much(x: Any) -> None:
    if dist.get_rank() == 0:
        dist.send(torch.zeros(1000), 1)
        dist.barrier()
    else:
        dist.recv(x, 0)
        dist.barrier()


def returns_a_module(x: Any) -> Any:
    return torch.nn.Linear(1, 1) if dist.get_rank() == 1 else x


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (raises_in_one, r"rank 1 raised IndexError in line \d+: out of chunks"),
        (dies_in_one, "rank 1 died"),
        (sends_too_much, "rank 1 died; maybe it got more bytes than it had a tensor for"),
        (returns_a_module, "rank 1 returned what no rank can: .*"),
    ],
)
def test_a_rank_that_fails_is_named(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(RankFailedError) as caught:
        run_ranks(function, 2, [torch.zeros(3), torch.zeros(3)])
    assert re.fullmatch(said, str(caught.value)), str(caught.value)


def test_the_line_of_an_error_is_the_students_own() -> None:
    with pytest.raises(RankFailedError) as caught:
        run_ranks(lambda: dist.send(torch.zeros(1), 99), 2)
    lines = Path(__file__).read_text().splitlines()
    number = int(str(caught.value).partition("in line ")[2].partition(":")[0])
    assert "dist.send(torch.zeros(1), 99)" in lines[number - 1]


@pytest.mark.thorough
def test_a_rank_that_never_calls_anything_is_named_after_a_while() -> None:
    def endless(x: Any) -> None:
        dist.barrier()
        while dist.get_rank() == 1:
            pass
        dist.recv(x, 1)

    with pytest.raises(RankHungError) as caught:
        run_ranks(endless, 2, [torch.zeros(1)] * 2, timeout=0.5)
    assert str(caught.value) == (
        "rank 1 was at work after 1 calls, and nothing happened for 0.5 s; "
        "rank 0 was still in recv from rank 1"
    )


def test_calls_without_end_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def chatter() -> None:
        while True:
            dist.barrier()

    monkeypatch.setattr(ranks, "MOST_CALLS", 50)
    with pytest.raises(RankHungError, match="made more than 50 calls"):
        run_ranks(chatter, 2)


# -- what is left


def test_what_a_rank_has_started_ends_with_it() -> None:
    def start() -> int:
        return subprocess.Popen(["sleep", "1000"]).pid

    found = run_ranks(start, 2)
    assert all(eventually(partial(gone, one.result)) for one in found)


SCRIPT = """\
import os, sys, time
sys.path.insert(0, {root!r})
from grader.kinds.student_tools.ranks import run_ranks
def tell():
    print(os.getpid())
    while True:
        time.sleep(1)
try:
    run_ranks(tell, 2, timeout=50)
except KeyboardInterrupt:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no children", flush=True)
"""


@pytest.fixture
def others(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Another process with two ranks, and their numbers."""
    script = SCRIPT.format(root=str(Path(__file__).parents[2]))
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    yield process, [int(process.stdout.readline().rpartition(" ")[2]) for _ in range(2)]
    process.kill()
    process.communicate()


@pytest.mark.thorough
def test_no_rank_is_left_when_the_first_process_is_interrupted(
    others: tuple[subprocess.Popen[str], list[int]],
) -> None:
    process, pids = others
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert said == "no children\n"
    assert all(gone(pid) for pid in pids)


@pytest.mark.thorough
def test_no_rank_is_left_when_the_first_process_is_killed(
    others: tuple[subprocess.Popen[str], list[int]],
) -> None:
    process, pids = others
    assert not any(gone(pid) for pid in pids)
    process.kill()
    process.wait()
    assert all(eventually(partial(gone, pid)) for pid in pids)


# -- in kernels

STUDENT = """\
import torch
import torch.distributed as dist
def shift(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    if x[0] < 0:
        dist.recv(arrived, (rank - 1) % world)
    going = dist.isend(x, (rank + 1) % world)
    dist.recv(arrived, (rank - 1) % world)
    going.wait()
    return arrived
"""
DRIVER = """\
import torch
def drive(answer, numbers):
    found = run_ranks(answer, len(numbers), [torch.tensor([float(n)]) for n in numbers])
    return [[one.result.item(), one.size("send")] for one in found]
"""


@pytest.mark.thorough
@pytest.mark.parametrize("sandbox", ["off", pytest.param("required", marks=pytest.mark.skipif(
    not WALLED, reason="without a network namespace there is no loopback either"))])  # fmt: skip
def test_in_a_kernel_a_deadlock_costs_its_own_call_alone(sandbox: str) -> None:
    calls = tuple(
        Call(inputs=f'{{"numbers": {{"t": "list", "v": [{numbers}]}}}}')
        for numbers in (
            '{"t": "int", "v": "1"}, {"t": "int", "v": "2"}, {"t": "int", "v": "3"}',
            '{"t": "int", "v": "-1"}, {"t": "int", "v": "-2"}',
            '{"t": "int", "v": "4"}, {"t": "int", "v": "5"}',
        )
    )
    call_plan = CallPlan(
        name="shift",
        alias="shift",
        driver=DRIVER,
        tools=(student_tools.source("ranks"),),
        calls=calls,
    )
    evidence = run(
        STUDENT,
        asks="shift",
        call_plans=(call_plan,),
        loopback=True,
        sandbox=sandbox,
        limits=Limits(),
    )
    raw: Any = evidence.answers["shift"].raw
    first, second, third = raw["calls"]
    assert (first["is"], second["is"], third["is"]) == ("returned", "raised", "returned")
    assert second["type"] == "DeadlockError"
    assert second["what"] == (
        "rank 0 was still in recv from rank 1, and nobody could go on; "
        "rank 1 was still in recv from rank 0"
    )
    numbers = [[one["v"] for one in pair["v"]] for pair in first["v"]["v"]]
    assert numbers == [["3.0", "4"], ["1.0", "4"], ["2.0", "4"]]


@pytest.mark.thorough
def test_in_a_notebook_the_tool_is_a_cell_and_ends_with_the_cell() -> None:
    uses = "run_ranks(lambda: __import__('time').sleep(1000), 2, timeout=900)"
    after = (
        "import os\ntry:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    left = 0"
    )
    evidence = run(
        student_tools.source("ranks"), uses, after,
        asks="left", loopback=True, limits=Limits(cell_seconds=2),
    )  # fmt: skip
    assert evidence.cells[1].outcome is Outcome.TIMEOUT
    assert evidence.answers["left"].raw == {"t": "int", "v": "0"}
