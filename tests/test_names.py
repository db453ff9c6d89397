"""Names: no two classes share one, and a function says what it does or returns."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "grader"

TOOLS = "kinds/student_tools"
# Of each exception, all files in which the name stands, and the reason.
SHARED_CLASS_NAMES = {
    "Call": (
        [f"{TOOLS}/ranks.py", "model/evidence.py"],
        "the text of a student tool identifies stored calls, and plugins use grader.model",
    ),
    "DataRaceError": (
        [f"{TOOLS}/cuda.py", f"{TOOLS}/triton_memory.py"],
        "each student tool stands alone, and raises its own errors",
    ),
    "LaunchError": (
        [f"{TOOLS}/cuda.py", f"{TOOLS}/triton_blocks.py"],
        "each student tool stands alone, and raises its own errors",
    ),
    "OutOfRangeError": (
        [f"{TOOLS}/cuda.py", f"{TOOLS}/triton_memory.py"],
        "each student tool stands alone, and raises its own errors",
    ),
}

# Without those that are also the verb itself, as read, run, put, set, cut, and split are.
# fmt: off
IRREGULAR_PARTICIPLES = frozenset([
    "begun", "bound", "bought", "broken", "brought", "built", "caught", "chosen", "done", "drawn",
    "driven", "fallen", "fed", "felt", "forgotten", "fought", "found", "frozen", "given", "gone",
    "grown", "heard", "held", "hidden", "kept", "known", "laid", "led", "left", "lent", "lost",
    "made", "meant", "met", "paid", "said", "seen", "sent", "shown", "shrunk", "sold", "sought",
    "spent", "spoken", "struck", "stuck", "taken", "taught", "thought", "thrown", "told", "torn",
    "understood", "undone", "won", "worn", "written",
])
# fmt: on
VERBS_IN_ED = frozenset(["embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"])
_FROZEN = "the text of a student tool identifies stored calls"
NAMED_BY_PARTICIPLES = {
    (f"{TOOLS}/launches.py", "_asked"): _FROZEN,
    (f"{TOOLS}/launches.py", "_profiled"): _FROZEN,
    (f"{TOOLS}/launches.py", "counted"): _FROZEN,
    (f"{TOOLS}/launches.py", "seen"): _FROZEN,
    (f"{TOOLS}/live.py", "_gone"): _FROZEN,
    (f"{TOOLS}/ranks.py", "noted"): _FROZEN,
    (f"{TOOLS}/threads.py", "_ended"): _FROZEN,
    (f"{TOOLS}/triton_blocks.py", "_compiled"): _FROZEN,
    (f"{TOOLS}/triton_blocks.py", "_interpreted"): _FROZEN,
    (f"{TOOLS}/triton_blocks.py", "_watched"): _FROZEN,
    (f"{TOOLS}/triton_memory.py", "_loaded"): _FROZEN,
    (f"{TOOLS}/triton_memory.py", "_stored"): _FROZEN,
    (f"{TOOLS}/triton_memory.py", "used"): _FROZEN,
    ("model/result.py", "unsettled"): "a number of marks, which templates and plugins read",
}

# Without a parser, which would take ten times as long.
DEFINITION = re.compile(r"^ *(?:async )?(class|def) (\w+)", re.MULTILINE)


@cache
def definitions(root: Path) -> tuple[tuple[str, str, str], ...]:
    """All classes and functions below a folder, nested ones included: file, `class` or `def`, and
    name."""
    return tuple(
        (path.relative_to(root).as_posix(), kind, name)
        for path in sorted(root.rglob("*.py"))
        for kind, name in DEFINITION.findall(path.read_text(encoding="utf-8"))
    )


def shared_class_names(root: Path) -> dict[str, list[str]]:
    """The files of each class name that more than one class has."""
    files: dict[str, list[str]] = {}
    for path, kind, name in definitions(root):
        if kind == "class":
            files.setdefault(name, []).append(path)
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def is_participle(name: str) -> bool:
    """Whether a function's name is a past participle and nothing else."""
    word = name.strip("_")
    if word in IRREGULAR_PARTICIPLES:
        return True
    return bool(re.fullmatch(r"[a-z]+ed", word)) and word not in VERBS_IN_ED


def functions_named_by_participles(root: Path) -> set[tuple[str, str]]:
    """The file and the name of each such function."""
    return {
        (path, name)
        for path, kind, name in definitions(root)
        if kind == "def" and is_participle(name)
    }


def test_each_class_has_a_name_of_its_own() -> None:
    shared = shared_class_names(PACKAGE)
    exceptions = {name: sorted(paths) for name, (paths, _reason) in SHARED_CLASS_NAMES.items()}
    new = {name: paths for name, paths in shared.items() if exceptions.get(name) != paths}
    assert not new, "say in each name what the class is"
    assert shared == exceptions, "some exceptions are no longer needed"


def test_no_function_is_named_by_a_participle_alone() -> None:
    named = functions_named_by_participles(PACKAGE)
    new = named - NAMED_BY_PARTICIPLES.keys()
    assert not new, "name what the function does, or what it returns"
    assert named == NAMED_BY_PARTICIPLES.keys(), "some exceptions are no longer needed"


def test_names_that_break_the_rules_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class Group:\n    def read(self): ...\n    async def chosen(self): ...\n"
    )
    (tmp_path / "b.py").write_text(
        "def run():\n    class Group: ...\n    def _stored(): ...\ndef seed(): ...\n"
    )
    assert shared_class_names(tmp_path) == {"Group": ["a.py", "b.py"]}
    assert functions_named_by_participles(tmp_path) == {("a.py", "chosen"), ("b.py", "_stored")}
