"""Compiles the functions with the running Python, and counts what happens when they run."""

import builtins
import dis
import importlib.abc
import importlib.machinery
import math
import sys

FOLDED = {
    "product": ("x * 60 * 60", "24 * 60 * 60"),
    "display": ("(1, 2, [3, 4])", "(1, 2, (3, 4))"),
    "text": ('"-" * 8000', '"-" * 80'),
    "power": ("pow(1024, 2)", "1024 ** 2"),
    "division": ("HOUR / 24", "3600 / 24"),
}
PRODUCTS = (
    "v * 24 * 60 * 60",
    "24 * 60 * 60 * v",
    "24 * v * 60 * 60",
    "24 * 60 * v * 60",
    "v * (24 * 60) * 60",
)
BEFORE = (
    "result = []",
    "result, sqrt, size = [], math.sqrt, len",
    "result, sqrt = [], math.sqrt",
    "result, size = [], len",
)
IN_LOOP = ("math.sqrt(len(row))", "sqrt(size(row))", "sqrt(len(row))", "math.sqrt(size(row))")
SCALED = ("", " * SCALE", " * 0.5", " / LIMIT")
DISPLAYS = (
    ("(1, 2, 4)", "[1, 2, 4]", "(1, 2, x)"),
    ("[16, 32, 64]", "{16, 32, 64}", "[16, 32, x]"),
    ("(x, (8, 16))", "((2, 4), (8, 16))", "[x, [8, 16]]"),
)


REWRITES = {
    "shift": (("x * 8", "8 * x"), ("x * 8", "x << 3")),
    "square": (("x ** 2", "2 * x"), ("x ** 2", "x * x")),
    "mask": (("x / 16", "x >> 4"), ("x % 16", "x & 15")),
    "sum": (("x * 2", "x | x"), ("x * 2", "x + x")),
}
COST = {"**": 4, "/": 3, "%": 3, "*": 2, "+": 1, "<<": 1, ">>": 1, "&": 1, "|": 1}


def solve(given):
    chosen = {
        name: pair[given[f"fold{number}"]] for number, (name, pair) in enumerate(FOLDED.items(), 1)
    }
    statements, executed = imports(given["calls"])
    return {
        "folded": {name for name, text in chosen.items() if is_constant(text)},
        "multiplications": multiplications(PRODUCTS[given["product"] - 1], given["elements"]),
        "cheaper": {
            name
            for number, (name, pair) in enumerate(REWRITES.items(), 1)
            if is_cheaper(*pair[given[f"cheap{number}"]])
        },
        "lookups": lookups(given["before"] - 1, given["body"] - 1, given["elements"]),
        "imports": [[statements[m], executed[m]] for m in ("audit", "report")],
        "objects": given["calls"]
        * objects(*(DISPLAYS[i][given[f"display{i + 1}"] - 1] for i in range(3))),
        "order": ["tokens", "tree", "flow", "code", "run"],
    }


def is_constant(text):
    """Whether a function that returns the expression only loads a constant and returns it."""
    names = {}
    exec(f"def function(x):\n    return {text}", names)
    found = [i.opname for i in dis.get_instructions(names["function"])]
    found = [name for name in found if name not in ("RESUME", "NOP", "CACHE")]
    return found in (["RETURN_CONST"], ["LOAD_CONST", "RETURN_VALUE"])


def is_cheaper(before, after):
    """Whether the values agree for many integers, and the operator costs less."""
    names = {}
    exec(f"def old(x):\n    return {before}\ndef new(x):\n    return {after}", names)
    same = all(names["old"](x) == names["new"](x) for x in range(-99, 100))
    return same and COST[after.split()[1]] < COST[before.split()[1]]


def multiplications(expression, elements):
    names = {}
    exec(
        "def function(values):\n    total = 0\n    for v in values:\n"
        f"        total += {expression}\n    return total",
        names,
    )
    found = list(dis.get_instructions(names["function"]))
    return elements * sum(i.opname == "BINARY_OP" and i.argrepr == "*" for i in found)


class Globals(dict):
    """Global variables that count how often one of them is looked up by its name."""

    count = 0

    def __getitem__(self, name):
        Globals.count += 1
        return super().__getitem__(name)


def lookups(before, body, elements):
    found = []
    for rows in (1, 2):
        names = Globals(math=math, SCALE=2.0, LIMIT=3.0, __builtins__=builtins)
        exec(
            f"def function(rows):\n    {BEFORE[before]}\n    for row in rows:\n"
            f"        result.append({IN_LOOP[before]}{SCALED[body]})\n    return result",
            names,
        )
        function = dict.__getitem__(names, "function")
        Globals.count = 0
        function([[1.0]] * rows)
        found.append(Globals.count)
    first, second = found
    return first + (elements - 1) * (second - first)


def imports(calls):
    """How often each import is executed, and the code of each module."""
    statements, executed = ({"audit": 0, "report": 0} for _ in range(2))

    class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, name, path=None, target=None):
            return importlib.machinery.ModuleSpec(name, self) if name in executed else None

        def exec_module(self, module):
            executed[module.__name__] += 1

    def counted(name, *arguments):
        statements[name] += 1
        return __import__(name, *arguments)

    names = {"__builtins__": {**vars(builtins), "__import__": counted}}
    exec(
        "def task(x):\n    import audit\n    if 0:\n        import report\n    return 2 * x", names
    )
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        for _ in range(calls):
            names["task"](1)
    finally:
        sys.meta_path.remove(finder)
        sys.modules.pop("audit", None)
    return statements, executed


def objects(first, found, pair):
    """The instructions of a call that build a list, a tuple, or a set. There are no branches."""
    names = {}
    exec(
        f"def steps(x):\n    first = {first}\n    found = x in {found}\n    pair = {pair}\n"
        "    return first, found, pair",
        names,
    )
    opcodes = [i.opname for i in dis.get_instructions(names["steps"])]
    return sum(name in ("BUILD_LIST", "BUILD_TUPLE", "BUILD_SET") for name in opcodes)
