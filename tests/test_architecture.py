"""The structure: which room may import which, and where each outside library has its home.

`python -m tests.test_architecture` prints the table of rooms for CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "grader"

GROUND = ["errors", "registry", "files", "units", "model", "wire"]
LANGUAGE = ["text", "expressions", "figures", "kinds"]
STAGES = [
    "notebook", "bank", "course", "draw", "gradebook", "release", "runtime", "collect", "report",
    "grading",
]  # fmt: skip
WHOLE = ["verify", "integrations", "analysis", "web", "security", "testing", "cli"]
FLOORS = {"ground": GROUND, "language": LANGUAGE, "stages": STAGES, "whole": WHOLE}

# What each room imports besides the ground. A room imports only rooms to the left of it above.
MAY_IMPORT: dict[str, set[str]] = {
    "text": set(),
    "expressions": set(),
    "figures": {"expressions", "text"},
    "kinds": {"expressions"},
    "notebook": {"expressions", "figures", "kinds", "text"},
    "bank": {"expressions", "figures", "kinds", "text"},
    "course": {"bank", "text"},
    "draw": {"expressions", "kinds", "text"},
    "gradebook": {"text"},
    "release": {"bank", "draw", "figures", "gradebook", "kinds", "notebook", "text"},
    "runtime": {"kinds", "notebook"},
    "collect": {"kinds", "notebook", "runtime", "text"},
    "report": {"figures", "text"},
    "grading": {
        "bank", "collect", "course", "expressions", "figures", "gradebook", "kinds", "notebook",
        "release", "report", "runtime", "text",
    },
    "verify": {
        "bank", "draw", "expressions", "figures", "gradebook", "grading", "kinds", "notebook",
        "release", "runtime",
    },
    "integrations": {
        "bank", "collect", "draw", "figures", "gradebook", "grading", "kinds",
        "notebook", "release", "report", "runtime", "text",
    },
    "security": {
        "bank", "draw", "gradebook", "kinds", "notebook", "release", "runtime",
    },
    "analysis": {"draw", "gradebook", "grading", "kinds", "release", "report"},
    "web": {
        "analysis", "bank", "collect", "course", "figures", "gradebook", "grading", "kinds",
        "notebook", "release", "report", "runtime", "text",
    },
    "testing": {"integrations", "kinds", "runtime", "security", "text"},
    "cli": {
        "figures", "kinds", "text", *STAGES,
        "verify", "integrations", "web", "analysis", "security",
    }
    - {"report"},
}  # fmt: skip
# Within the ground, all imports are listed.
GROUND_IMPORTS: dict[str, set[str]] = {
    "errors": set(),
    "registry": {"errors"},
    "files": {"errors"},
    "units": {"registry", "errors"},
    "model": {"units", "errors"},
    "wire": set(),
}

HOMES = {
    "yaml": {"bank", "course"},
    "pydantic": {"bank", "runtime/machine"},
    "jinja2": {"expressions", "notebook", "report", "integrations", "text"},
    "nbformat": {"notebook"},
    "nbclient": {"runtime/kernels"},
    "jupyter_client": {"runtime/kernels", "runtime/worker"},
    "ipykernel": {"runtime/kernels", "runtime/worker"},
    "IPython": {"runtime/worker"},
    "zmq": {"runtime/kernels", "runtime/worker"},
    "tornado": {"runtime/kernels", "runtime/worker"},
    "traitlets": {"runtime/kernels", "runtime/worker"},
    "sqlalchemy": {"gradebook"},
    "pyseccomp": {"runtime/sandbox"},
    "click": {"cli"},
    "rich": {"cli"},
    "markdown_it": {"text"},
    "latex2mathml": {"text"},
    "regex": {"kinds"},
    "cryptography": {"release"},
    "starlette": {"web"},
    "anyio": {"web/desk", "web/practice"},
    "uvicorn": {"web"},
    "matplotlib": {"figures"},
    "numpy": {
        "analysis",
        "figures", "kinds/hidden", "kinds/student_tools", "runtime/execute",
        "runtime/machine", "security/leaks", "verify", "wire",
    },
    "torch": {"kinds/student_tools", "runtime/machine", "verify", "wire"},
}  # fmt: skip
FORBIDDEN = {"pickle", "dill", "marshal", "shelve"}
# What runs in the student's process or its fork server: nothing that knows a key. For each place,
# what it may import of the grader, and which libraries beyond the standard one.
BEHIND_THE_WALL = {
    "wire/encoding": (set(), {"numpy", "torch"}),
    "wire/calls": ({"wire/encoding"}, {"numpy", "torch"}),
    "wire/watch": (set(), set()),
    "runtime/worker": (
        {"runtime/worker", "wire/calls", "wire/encoding"},
        {"IPython", "ipykernel", "jupyter_client", "tornado", "traitlets", "zmq"},
    ),
}


def modules() -> Iterator[tuple[str, Path]]:
    """The name of every module below `grader.`, and its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


NAMES = {name for name, _ in modules()}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Full names of the modules that a file imports, anywhere in it."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute here"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                known = full.removeprefix("grader.") in NAMES
                yield full if known and full.startswith("grader.") else node.module


def own_imports(path: Path) -> Iterator[str]:
    """Those of this package, without `grader.` in front."""
    for name in imports(path):
        if name.startswith("grader."):
            yield name.removeprefix("grader.")


def room(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def is_in(name: str, places: Iterable[str]) -> bool:
    """Whether a module is in one of some folders or files, written with slashes."""
    path = name.replace(".", "/")
    return any(path == place or path.startswith(f"{place}/") for place in places)


def test_every_module_has_a_floor() -> None:
    rooms = [one for floor in FLOORS.values() for one in floor]
    assert len(set(rooms) - {"errors", "registry", "files"}) <= 24, "too many to look through"
    known = {*rooms, "", "__main__"}
    assert {room(name) for name, _ in modules()} <= known
    assert set(MAY_IMPORT) == {*LANGUAGE, *STAGES, *WHOLE}
    assert set(GROUND_IMPORTS) == set(GROUND)


def test_rooms_import_only_what_stands_before_them() -> None:
    order = [*GROUND, *LANGUAGE, *STAGES, *WHOLE]
    for one, allowed in {**GROUND_IMPORTS, **MAY_IMPORT}.items():
        assert all(order.index(other) < order.index(one) for other in allowed), one


def test_a_room_imports_what_the_table_says_and_nothing_else() -> None:
    used: dict[str, set[str]] = {one: set() for one in (*GROUND_IMPORTS, *MAY_IMPORT)}
    for name, path in modules():
        if room(name) in used:
            used[room(name)] |= {room(other) for other in own_imports(path)} - {room(name)}
    wrong = []
    for one, others in used.items():
        allowed = GROUND_IMPORTS.get(one, {*GROUND, *MAY_IMPORT.get(one, ())})
        wrong += [f"{one} imports {other}" for other in sorted(others - allowed)]
        needless = MAY_IMPORT.get(one, set()) - others
        wrong += [f"{one} may import {other} and does not" for other in sorted(needless)]
    assert not wrong


def circles(arrows: Mapping[str, set[str]]) -> list[set[str]]:
    """Groups of modules of which each reaches every other by imports."""
    reach = {one: set(others) for one, others in arrows.items()}
    changed = True
    while changed:
        changed = False
        for one, others in reach.items():
            more = set().union(*(reach.get(other, set()) for other in others)) - others
            changed |= bool(more)
            reach[one] |= more
    found: list[set[str]] = []
    for one, others in reach.items():
        group = {other for other in others if one in reach.get(other, set())}
        if group and group not in found:
            found.append(group)
    return found


def test_no_modules_import_one_another() -> None:
    arrows = {name: set(own_imports(path)) & NAMES - {name} for name, path in modules()}
    assert circles(arrows) == []


def test_what_runs_behind_the_wall_imports_nothing_else() -> None:
    wrong = []
    for name, path in modules():
        for place, (own, libraries) in BEHIND_THE_WALL.items():
            if not is_in(name, [place]):
                continue
            for other in imports(path):
                top = other.split(".")[0]
                if top == "grader":
                    fine = other == "grader" or is_in(other.removeprefix("grader."), own)
                else:
                    fine = top in sys.stdlib_module_names or top in libraries
                wrong += [] if fine else [f"{name} imports {other}"]
    assert not wrong


def test_the_web_applications_share_only_what_both_need() -> None:
    """What is in `web/` itself knows neither application, and neither knows the other."""
    apps = {"web.desk", "web.practice"}
    wrong = []
    for name, path in modules():
        if room(name) == "web":
            here = ".".join(name.split(".")[:2])
            used = {".".join(other.split(".")[:2]) for other in own_imports(path)}
            wrong += [f"{name} imports {other}" for other in sorted(used & apps - {here})]
    assert not wrong


def test_the_ground_needs_only_the_standard_library() -> None:
    wrong = []
    for name, path in modules():
        if room(name) in {*GROUND} - {"wire"}:
            known = sys.stdlib_module_names | {"grader"}
            wrong += [f"{name}: {n}" for n in imports(path) if n.split(".")[0] not in known]
    assert not wrong


def test_only_the_runtime_reaches_through_the_wall() -> None:
    """Linux's system calls and the stand-in for torch's compiler may be used anywhere."""
    wrong = []
    for name, path in modules():
        if not is_in(name, ["runtime"]):
            used = [n for n in own_imports(path) if is_in(n, ["runtime/worker"])]
            used = [
                n for n in used if n not in ("runtime.worker.syscalls", "runtime.worker.dynamo")
            ]
            wrong += [f"{name} imports {n}" for n in used]
    assert not wrong


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no fork server")
def test_the_fork_server_loads_nothing_that_knows_a_key() -> None:
    code = "import json, sys, grader.runtime.worker.fork_server, grader.runtime.worker.kernel\n"
    code += "print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    ours = {name for name in json.loads(done.stdout) if name.startswith("grader.")}
    known = ["runtime/worker", "wire/calls", "wire/encoding"]
    packages = {"runtime", "wire"}
    ours = {name.removeprefix("grader.") for name in ours}
    assert {name for name in ours if not is_in(name, known)} == packages


def test_each_library_has_one_home() -> None:
    wrong = []
    for name, path in modules():
        for other in imports(path):
            homes = HOMES.get(other.split(".")[0])
            if homes is not None and not is_in(name, homes):
                wrong.append(f"{name} imports {other}")
    assert not wrong


def test_nothing_is_unpickled_or_evaluated() -> None:
    wrong = []
    for _name, path in modules():
        wrong += [f"{path.name}: {n}" for n in imports(path) if n.split(".")[0] in FORBIDDEN]
        for node in nodes(path):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"eval", "exec"}
            ):
                wrong.append(f"{path.name}:{node.lineno}: {node.func.id}")
    # Some run inside the student's kernel, where running code is the whole point; and solutions
    # are run by one function alone. The gate pickles for its own processes, which run solutions.
    known = ("calls.py", "solutions.py", "rank_pool.py")
    assert [w for w in wrong if not w.startswith(known)] == []


def test_modules_stay_small() -> None:
    sizes = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for _, path in modules()
    }
    assert {name: lines for name, lines in sizes.items() if lines > 370} == {}


@pytest.mark.thorough
@pytest.mark.parametrize("path", [p for _, p in modules()], ids=lambda p: p.stem)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text
    assert re.search(r"[.!]$", text.splitlines()[0] if "\n\n" in text else text)


def table() -> str:
    """The rooms as CONTRIBUTING.md shows them."""
    lines = ["| floor | room | may import, besides the ground |", "|---|---|---|"]
    for floor, rooms in FLOORS.items():
        for one in rooms:
            allowed = GROUND_IMPORTS if floor == "ground" else MAY_IMPORT
            others = ", ".join(f"`{other}`" for other in sorted(allowed[one]))
            lines.append(f"| {floor} | `{one}` | {others or '–'} |")
    return "\n".join(lines)


def test_contributors_see_the_same_table() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert table() in text, "paste what `python -m tests.test_architecture` prints"


def test_no_test_module_imports_another() -> None:
    """What tests share is in tests/helpers, so that each module runs alone."""
    tests = PACKAGE.parent / "tests"
    found = [
        str(path.relative_to(tests))
        for path in tests.rglob("*.py")
        if "attacks" not in path.parts
        and re.search(r"^\s*from tests(\.\w+)*\.test_\w+ import", path.read_text(), re.M)
    ]
    assert not found, f"move what these import into tests/helpers: {', '.join(found)}"


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
