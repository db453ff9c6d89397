"""Names to things: the built-in ones, and those that other packages bring along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.cli.doctor_report import examine
from grader.errors import SetupError, SpecError
from grader.figures.base import figure_types
from grader.kinds import kinds
from grader.registry import Registry
from grader.runtime.sandbox import WANTED, Sandbox, base, choose_sandbox
from grader.verify import verify_problem
from tests.helpers.banks import SOLUTION, SPEC, a_bank

Install = Callable[..., None]
SANDBOX = """\
from grader.runtime.sandbox import WANTED, Sandbox, Layer

class Walled(Sandbox):
    def layers(self):
        return tuple(Layer(name, True, "there") for name in WANTED)

thing = Walled()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package with one module, whose `thing` plugs in under the module's name."""

    def into(group: str, source: str, name: str = "walled") -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}:thing\n")
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return into


def test_a_plug_in_is_listed_without_being_loaded_and_loaded_when_it_is_found(
    install: Install,
) -> None:
    registry: Registry[object] = Registry("wall", "tests.walls")
    registry.add("own")("brick")
    install("tests.walls", "thing = 'hedge'")
    assert list(registry) == ["own", "walled"]
    assert "walled" in registry
    assert "wall" not in registry
    assert "walled" not in sys.modules
    assert registry.find("walled") == "hedge"
    assert list(registry) == ["own", "walled"]


def test_a_built_in_thing_is_not_replaced_by_a_plug_in_of_its_name(install: Install) -> None:
    registry: Registry[object] = Registry("wall", "tests.walls")
    registry.add("walled")("brick")
    install("tests.walls", "thing = 'hedge'")
    assert list(registry) == ["walled"]
    assert registry.find("walled") == "brick"
    assert registry.plug_ins() == ()


def test_the_doctor_tries_every_plug_in(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (kinds, figure_types):
        monkeypatch.setattr(registry, "_registered", dict(registry._registered))
        monkeypatch.delitem(vars(registry), "_plugins", raising=False)
    install("grader.kinds", KIND.replace("NAME", "proof"), "proof")
    install("grader.figures", "import a_module_that_is_nowhere", "plot")
    found = {finding.what: finding for finding in examine(kernel=False)}
    proof, plot = found["kind 'proof'"], found["type of figure 'plot'"]
    assert (proof.ok, proof.observation) == (True, "proof:thing, from proof 1.0")
    assert (plot.ok, plot.fix) == (False, "repair the package that provides it, or uninstall it")
    for registry in (kinds, figure_types):
        monkeypatch.delitem(vars(registry), "_plugins", raising=False)


def test_a_near_miss_of_a_plug_in_is_met_with_its_name(install: Install) -> None:
    registry: Registry[object] = Registry("wall", "tests.walls")
    install("tests.walls", "thing = 'hedge'")
    with pytest.raises(SetupError) as caught:
        registry.find("waled")
    assert caught.value.fix == "did you mean 'walled'?"


def test_a_plug_in_that_can_not_be_loaded_is_named(install: Install) -> None:
    registry: Registry[object] = Registry("wall", "tests.walls")
    install("tests.walls", "import a_module_that_is_nowhere")
    with pytest.raises(SetupError, match="plug-in for wall 'walled' can't be loaded: No module"):
        registry.find("walled")


def test_a_plug_in_that_exits_when_it_is_imported_is_named(install: Install) -> None:
    registry: Registry[object] = Registry("wall", "tests.walls")
    install("tests.walls", "raise SystemExit('no license')")
    with pytest.raises(SetupError, match="plug-in for wall 'walled' can't be loaded: no license"):
        registry.find("walled")


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_sandbox_that_is_plugged_in_is_chosen_when_it_is_the_strongest(
    mode: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("grader.sandboxes", SANDBOX)
    fresh: Registry[Sandbox] = Registry("sandbox", "grader.sandboxes")
    fresh.add("off")(Sandbox())
    monkeypatch.setattr(base, "sandboxes", fresh)
    assert choose_sandbox(mode).name == "walled"


def test_many_other_layers_do_not_make_up_for_a_wanted_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Some(Sandbox):
        def __init__(self, *names: str) -> None:
            self.names = names

        def layers(self) -> tuple[base.Layer, ...]:
            return tuple(base.Layer(name, True, "there") for name in self.names)

    fresh: Registry[Sandbox] = Registry("sandbox", "tests.none")
    fresh.add("showy")(Some("files", "one", "two", "three", "four"))
    fresh.add("sound")(Some(*WANTED))
    monkeypatch.setattr(base, "sandboxes", fresh)
    assert choose_sandbox("required").name == "sound"


@pytest.mark.thorough
def test_a_kind_that_is_plugged_in_is_one_of_the_kinds_and_help_loads_no_plug_in(
    install: Install, tmp_path: Path
) -> None:
    install("grader.kinds", "print('loaded')\nthing = object()")
    code = "from grader.kinds import kinds\nprint('walled' in kinds, 'walled' in sorted(kinds))"
    for command, expected in ((["-c", code], "True True\n"), (["-m", "grader", "--help"], None)):
        done = subprocess.run(
            [sys.executable, *command],
            env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parent.parent}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "loaded" not in done.stdout
        assert expected in (None, done.stdout)


KIND = """\
from dataclasses import dataclass
from typing import Literal

from grader.kinds.explanation import ExplanationKind, ExplanationKey
from grader.model import Part, Text

@dataclass(frozen=True, slots=True, kw_only=True)
class Proof(Part):
    kind: Literal["NAME"] = "NAME"
    rubric: Text = ""

class ProofKind(ExplanationKind):
    spec = Proof

thing = ProofKind()
"""
PROOF = SPEC[: SPEC.index("  - id: bound")] + "  - {id: why, kind: proof, ask: Why?}\n"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (KIND.replace("NAME", "essay"), "the plug-in for 'proof' says that its kind is 'essay'"),
        (
            KIND.replace("NAME", "proof").replace("ProofKind()", "ProofKind"),
            "the plug-in for 'proof' is a class, not an object",
        ),
    ],
)
def test_a_plug_in_that_does_not_fit_its_entry_point_is_named(
    source: str, what: str, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "_registered", dict(kinds._registered))
    monkeypatch.delitem(vars(kinds), "_plugins", raising=False)
    install("grader.kinds", source, "proof")
    bank = Bank.open([a_bank(tmp_path / "bank", PROOF)])
    with pytest.raises(SpecError, match=what):
        bank.problem("sample")
    monkeypatch.delitem(vars(kinds), "_plugins")


def test_a_kind_that_a_person_grades_passes_the_gate_under_any_name(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "_registered", dict(kinds._registered))
    monkeypatch.delitem(vars(kinds), "_plugins", raising=False)
    install("grader.kinds", KIND.replace("NAME", "proof"), "proof")
    solution = SOLUTION.replace(', "bound": "bf16"', "")
    result = verify_problem(Bank.open([a_bank(tmp_path / "bank", PROOF, solution)]), "sample", 30)
    assert result.holds, [str(f) for f in result.findings] + list(result.errors)
    monkeypatch.delitem(vars(kinds), "_plugins")
