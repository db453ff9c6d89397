"""What every sandbox must do, whichever it is: start a kernel, and hold what it says it offers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.errors import SetupError
from grader.model import Limits, Outcome
from grader.runtime.execute import execute
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.sandbox import WANTED, Layer, Sandbox, ScratchFolder, choose_sandbox, sandboxes
from grader.testing import check_sandbox
from tests.helpers.notebooks import QUICK, a_job, a_notebook

EVERY = list(sandboxes)
PLACE = ScratchFolder(Path("/nowhere"))


@pytest.fixture(params=EVERY)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def sandbox(name: str) -> Sandbox:
    return sandboxes.find(name)


def offers(sandbox: Sandbox, layer: str) -> bool:
    return any(each.name == layer and each.present for each in sandbox.layers())


def answers(name: str, source: str, asks: str, limits: Limits = QUICK) -> Mapping[str, Any]:
    data = a_notebook(source)
    names = asks.split()
    evidence = execute(a_job(*names, data=data, limits=limits, sandbox=name), data)
    assert evidence.outcome is Outcome.FINISHED, evidence
    return {n: (evidence.answers[n].raw or {}).get("v") for n in names}


class Unshared(Sandbox):
    """What a plug-in writes: the command `unshare` gives kernels an empty network."""

    WRAPPER = ("unshare", "--net", *(() if os.geteuid() == 0 else ("--map-current-user",)), "--")

    def layers(self) -> tuple[Layer, ...]:
        rest = [layer for layer in super().layers() if layer.name != "network"]
        return (*rest, Layer("network", True, "nothing can be reached: `unshare --net`"))

    def wrap(self, command: Sequence[str], place: ScratchFolder) -> list[str]:
        del place
        return [*self.WRAPPER, *command]


def test_a_sandbox_satisfies_its_contract(name: str) -> None:
    check_sandbox(name)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="needs the command unshare")
def test_another_sandbox_plugs_in_by_a_wrapper_and_satisfies_the_contract(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        subprocess.run([*Unshared.WRAPPER, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no network namespace can be made here")
    monkeypatch.setitem(sandboxes._registered, "unshared", Unshared())
    check_sandbox("unshared")
    described: Any = choose_sandbox("unshared").describe()
    assert "network" in described["layers"]
    assert "files" in described["missing"]


@pytest.mark.thorough
def test_a_layer_that_is_claimed_and_not_there_fails_the_check(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Claims(Unshared):
        WRAPPER = ()

    monkeypatch.setitem(sandboxes._registered, "claims", Claims())
    with pytest.raises(AssertionError, match="network: connected to"):
        check_sandbox("claims")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no rlimits")
def test_limits_are_set_before_any_code_of_the_student(name: str, sandbox: Sandbox) -> None:
    if not offers(sandbox, "rlimits"):
        pytest.skip("this sandbox offers no rlimits here")
    source = """\
import resource
cpu = resource.getrlimit(resource.RLIMIT_CPU)[0] < 10**6
core = resource.getrlimit(resource.RLIMIT_CORE)[0]
files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
try:
    with open("big", "wb") as file:
        file.seek(2**31)
        file.write(b"x")
    size = "unbounded"
except OSError as error:
    size = type(error).__name__
"""
    found = answers(name, source, "cpu core files size")
    assert found["cpu"] is True
    import resource

    # One byte, where that may be had: unlike none it also keeps Linux from calling a program.
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert found["core"] == str(int(sys.platform == "linux" and most != 0))
    assert int(str(found["files"])) <= 1024
    assert found["size"] == "OSError"


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts private memory")
def test_a_memory_limit_names_itself_and_the_rest_runs(name: str) -> None:
    limits = Limits(cell_seconds=10, notebook_seconds=30, memory_bytes=700_000_000)
    data = a_notebook(
        "q1_x = 1", "q2_y = bytearray(10**9)", "import numpy as np\nq3_z = np.ones(9)[0]"
    )
    evidence = execute(a_job("q1_x", "q2_y", "q3_z", data=data, limits=limits, sandbox=name), data)
    assert evidence.outcome is Outcome.OUT_OF_MEMORY
    why = "stopped with MemoryError (limit: 0.7 GB of memory)"
    assert evidence.note == f"code cell 2 {why}"
    assert evidence.answers["q2_y"].absent == f"code cell 2 {why} before q2_y was set"
    assert evidence.answers["q3_z"].raw == {"t": "float", "v": "1.0", "from": "numpy.float64"}


def test_auto_takes_the_sandbox_with_most_wanted_layers_and_says_which_are_missing() -> None:
    chosen = choose_sandbox("auto")
    counts = {n: sum(offers(sandboxes.find(n), layer) for layer in WANTED) for n in EVERY}
    assert counts[chosen.name] == max(counts.values())
    described: Any = chosen.describe()
    assert described["mode"] == "auto"
    assert {*described["layers"], *described["missing"]} >= set(WANTED)


def test_required_refuses_with_the_names_of_what_is_missing() -> None:
    described: Any = choose_sandbox("auto").describe()
    missing = [layer for layer in WANTED if layer in described["missing"]]
    if not missing:
        assert choose_sandbox("required").name in EVERY
        return
    with pytest.raises(SetupError) as caught:
        choose_sandbox("required")
    assert all(layer in caught.value.what for layer in missing)
    assert caught.value.fix is not None


def test_an_unknown_sandbox_is_met_with_the_nearest_name() -> None:
    with pytest.raises(SetupError, match="did you mean 'off'"):
        choose_sandbox("of")


def test_the_path_finds_the_interpreter_that_runs_the_kernel(sandbox: Sandbox) -> None:
    path = sandbox.environment(PLACE)["PATH"].split(os.pathsep)
    assert path[0] == str(Path(sys.executable).parent)
