"""The structure: who may import whom, and which library has its home where."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "grader"

GROUND = ["errors", "registry", "quantity", "model"]
# A tool may import the ground and the tools that stand before it.
TOOLS = [
    "files", "units", "expressions", "probe", "kinds", "notebook", "sandbox", "kernels",
    "executors", "gradebook",
]  # fmt: skip
STAGES = ["load", "draw", "render", "collect", "execute", "score", "tally", "reveal", "report"]
WHOLE = ["verify", "pipeline", "testing", "demo", "cli", "__main__"]

HOMES = {
    "yaml": {"load"},
    "pydantic": {"load"},
    "jinja2": {"expressions", "render", "report"},
    "nbformat": {"notebook"},
    "nbclient": {"execute", "kernels"},
    "jupyter_client": {"execute", "kernels"},
    "sqlalchemy": {"gradebook"},
    "click": {"cli"},
    "rich": {"cli"},
    "markdown_it": {"report"},
    "latex2mathml": {"report"},
    "regex": {"kinds"},
}
FORBIDDEN = {"pickle", "dill", "marshal", "shelve"}
# What student code may learn of the grader: nothing that knows a key.
RIGHT_OF_THE_WALL = {"probe"}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        yield relative.parts[0].removesuffix(".py"), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute here"
            if node.module == "grader":
                yield from (f"grader.{alias.name}" for alias in node.names)
            else:
                yield node.module


def allowed(room: str) -> set[str]:
    if room in GROUND:
        return {*GROUND}
    if room in TOOLS:
        return {*GROUND, *TOOLS[: TOOLS.index(room) + 1]}
    if room in STAGES:
        return {*GROUND, *TOOLS, room}
    return {*GROUND, *TOOLS, *STAGES, *WHOLE}


def test_every_module_has_a_layer() -> None:
    known = {*GROUND, *TOOLS, *STAGES, *WHOLE, "__init__"}
    assert {room for room, _ in modules()} <= known


def test_imports_go_one_way() -> None:
    wrong = []
    for room, path in modules():
        for name in imports(path):
            if name.startswith("grader.") and room != "__init__":
                other = name.split(".")[1]
                if other not in allowed(room) and other != "__version__":
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_the_ground_and_the_probe_need_only_the_standard_library() -> None:
    wrong = []
    for room, path in modules():
        if room in {*GROUND, *RIGHT_OF_THE_WALL}:
            for name in imports(path):
                top = name.split(".")[0]
                if top not in sys.stdlib_module_names and top != "grader":
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_each_library_has_one_home() -> None:
    wrong = []
    for room, path in modules():
        for name in imports(path):
            top = name.split(".")[0]
            if room not in HOMES.get(top, {room}):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_nothing_is_unpickled_or_evaluated() -> None:
    wrong = []
    for _, path in modules():
        wrong += [f"{path.name}: {n}" for n in imports(path) if n.split(".")[0] in FORBIDDEN]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"eval", "exec"}
            ):
                wrong.append(f"{path.name}:{node.lineno}: {node.func.id}")
    # The boot file runs inside the student's kernel, where running code is the whole point.
    assert [w for w in wrong if not w.startswith("boot.py")] == []


def test_modules_stay_small() -> None:
    sizes = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for _, path in modules()
    }
    assert {name: lines for name, lines in sizes.items() if lines > 360} == {}


@pytest.mark.parametrize("path", [p for _, p in modules()], ids=lambda p: p.stem)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text
    assert re.search(r"[.!]$", text.splitlines()[0] if "\n\n" in text else text)
