"""The structure: who may import whom, and which library has its home where."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "grader"

GROUND = ["words", "errors", "registry", "quantity", "model"]
# A tool may import the ground and the tools that stand before it.
TOOLS = [
    "files", "sealed", "git", "install", "spreadsheet", "markup", "units", "expressions", "probe",
    "trial", "watch", "inputs", "statements", "source", "measured", "tools", "hidden", "analysis",
    "kinds", "notebook", "nbgrader", "inside", "sandbox", "kernels", "executors", "gradebook",
    "machine",
]  # fmt: skip
STAGES = [
    "load", "draw", "render", "collect", "execute", "score", "tally", "reveal", "report", "export",
]  # fmt: skip
WHOLE = ["verify", "pipeline", "testing", "demo", "cli", "__main__"]

HOMES = {
    "yaml": {"load"},
    "pydantic": {"load"},
    "jinja2": {"expressions", "render", "report", "export"},
    "nbformat": {"notebook"},
    "nbclient": {"kernels"},
    "jupyter_client": {"kernels", "inside"},
    "ipykernel": {"kernels", "inside"},
    "IPython": {"inside"},
    "zmq": {"kernels", "inside"},
    "tornado": {"kernels", "inside"},
    "traitlets": {"kernels", "inside"},
    "sqlalchemy": {"gradebook"},
    "pyseccomp": {"sandbox"},
    "click": {"cli"},
    "rich": {"cli"},
    "markdown_it": {"markup"},
    "latex2mathml": {"markup"},
    "regex": {"kinds"},
    "cryptography": {"sealed"},
}
FORBIDDEN = {"pickle", "dill", "marshal", "shelve"}
# What runs in the student's process or its parent: nothing that knows a key. What each may import
# of the grader, and which libraries beyond the standard one.
RIGHT_OF_THE_WALL = {
    "probe": {"probe"},
    "trial": {"trial"},
    "watch": {"watch"},
    "inputs": {"inputs"},
    "inside": {"inside", "probe", "trial"},
}
KERNEL_LIBRARIES = {
    "trial": {"numpy", "torch"},
    "inputs": {"numpy", "torch"},  # of the student's, when they are needed
    "inside": {"IPython", "ipykernel", "jupyter_client", "tornado", "traitlets", "zmq"},
}


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
    if room in RIGHT_OF_THE_WALL:
        return RIGHT_OF_THE_WALL[room]
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


def test_the_ground_and_what_is_right_of_the_wall_need_only_the_standard_library() -> None:
    wrong = []
    for room, path in modules():
        if room in {*GROUND, *RIGHT_OF_THE_WALL}:
            known = sys.stdlib_module_names | {"grader"} | KERNEL_LIBRARIES.get(room, set())
            used = (name for name in imports(path) if name.split(".")[0] not in known)
            wrong += [f"{path.relative_to(PACKAGE)} imports {name}" for name in used]
    assert not wrong


def test_only_kernels_and_sandboxes_reach_through_the_wall() -> None:
    """Linux's system calls aside, which know nothing of kernels."""
    wrong = []
    for room, path in modules():
        if room not in {"inside", "sandbox", "kernels"}:
            used = (name for name in imports(path) if name.startswith("grader.runtime.worker"))
            used = (name for name in used if name != "grader.runtime.worker.syscalls")
            wrong += [f"{path.relative_to(PACKAGE)} imports {name}" for name in used]
    assert not wrong


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no parent of kernels")
def test_the_parent_of_kernels_loads_nothing_that_knows_a_key() -> None:
    code = "import json, sys, grader.runtime.worker.fork_server, grader.runtime.worker.kernel\n"
    code += "print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    ours = {name for name in json.loads(done.stdout) if name.split(".")[0] == "grader"}
    assert {name.split(".")[1] for name in ours - {"grader"}} == {"inside", "probe", "trial"}


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
    # Some run inside the student's kernel, where running code is the whole point; and solutions
    # are run by one function alone.
    known = ("boot.py", "trial.py", "authored.py")
    assert [w for w in wrong if not w.startswith(known)] == []


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
