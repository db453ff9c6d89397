"""What is forbidden, reached in other ways; and honest code, which nobody has to look at.

The code runs right here, seen and judged by the functions that judge it after a run.
"""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds.attempts import Code, CodeAnswer, CodeKey
from grader.kinds.hidden.doubtful_use import find_doubtful_use
from grader.kinds.hidden.forbidden_use import find_forbidden_use, list_forbidden_lines
from grader.kinds.hidden.judging import find_broken_rule, find_doubt
from grader.kinds.hidden.review import SourceReview, review_source
from grader.kinds.hidden.source import extract_definition, functions_of
from grader.wire.watch import call_watched, find_reached_rules
from tests.helpers.code import STARTER, a_code_key, judged, ran

VALUES = [float(i) for i in range(40)]
FSUM = "math.fsum"


def verdict(cells: list[str], *forbidden: str) -> tuple[str, object]:
    """`refused`, `doubt` or `full` for `f` of these cells, and what it returned."""
    space: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"<ipython-input-{number}-abc>", "exec"), space)
    source = extract_definition(cells, "f")
    exec(compile(functions_of(source), "<ipython-input-again>", "exec"), space)
    said: dict[str, object] = {"is": "returned"}
    result = call_watched(space["f"], [*forbidden], said, x=list(VALUES))  # type: ignore[arg-type]
    part = Code(id="f", ask="?", points=1, starter=STARTER, forbid=forbidden)
    review: Any = review_source(source, "f", STARTER, forbidden)
    value = CodeAnswer(source=source, review=SourceReview(**review), calls=(said,))
    if find_broken_rule(value, part):
        return "refused", result
    return ("doubt" if find_doubt(value, part, earns=True) else "full"), result


NAME = "n = ''.join(['fs', 'um'])\n"
TAKING = "class K:\n    def go(self, n): return getattr(self, n)\n"
CALLED = f"import math, functools\n{NAME}{TAKING}"
AROUND = {
    "builtins": ["import builtins, math, functools\nbuiltins.sum = functools.partial(math.fsum)",
                 "def f(x): return sum(x)"],
    "another module's": ["import statistics as s, functools\ndef f(x):\n"
                         "    return functools.partial(s.fsum)(x)"],
    "in a list": ["import statistics as s, functools\nh = [functools.partial(s.fsum)]\n"
                  "def f(x): return h[0](x)"],
    "in an object": ["import statistics, functools\nclass K:\n    def __init__(self):\n"
                     "        self.g = functools.partial(statistics.fsum)\nk = K()\n"
                     "def f(x): return k.g(x)"],
    "in a default": ["import statistics, functools\n"
                     "def f(x, g=functools.partial(statistics.fsum)): return g(x)"],
    "in a closure": ["import statistics, functools\ndef make(g):\n    def f(x): return g(x)\n"
                     "    return f\nf = make(functools.partial(statistics.fsum))"],
    "imported inside": ["import functools\ndef f(x):\n    from statistics import fsum as g\n"
                        "    return functools.partial(g)(x)"],
    "unbound": [CALLED + "def f(x): return functools.partial(K.go(math, n))(x)"],
    "of its type": [CALLED + "def f(x): return functools.partial(type(K()).go(math, n))(x)"],
    "of its class": [CALLED + "c = K().go('__cl' + 'ass__')\n"
                     "def f(x): return functools.partial(c.go(math, n))(x)"],
    "class by another name": [CALLED + "C = K\n"
                              "def f(x): return functools.partial(C.go(math, n))(x)"],
    "no object": [f"import math, functools\n{NAME}class K: pass\nk = K()\nfor k in [math]: pass\n"
                  "def f(x): return functools.partial(getattr(k, n))(x)"],
    "metaclass": [f"import math, functools\n{NAME}class M(type):\n"
                  "    def __call__(cls): return math\nclass B(metaclass=M): pass\n"
                  "class K(B): pass\nk = K()\n"
                  "def f(x): return functools.partial(getattr(k, n))(x)"],
    "another object": [f"import math, functools\n{NAME}class M(type):\n"
                       "    def __call__(cls): return math\nclass object(metaclass=M): pass\n"
                       "class K(object): pass\nk = K()\n"
                       "def f(x): return functools.partial(getattr(k, n))(x)"],
    "no dataclass": [f"import math, functools\n{NAME}def dataclass(c): return lambda: math\n"
                     "@dataclass\nclass K: pass\nk = K()\n"
                     "def f(x): return functools.partial(getattr(k, n))(x)"],
    "attributes given later": [f"import math, functools\n{NAME}class K: pass\n"
                               "K.__getattr__ = lambda self, n: getattr(math, n)\nk = K()\n"
                               "def f(x): return functools.partial(getattr(k, n))(x)"],
    "text of two values": ["import math, functools\nn = 'sqrt'\ndef change():\n    global n\n"
                           "    n = 'f' + 'sum'\nchange()\n"
                           "def f(x): return functools.partial(getattr(math, 'fs' + 'um'))(x)"],
    "private": ["import numpy._core._methods as q, numpy as np\n"
                "def f(x): return q._sum(np.array(x))"],
    "elsewhere in its package": ["from statistics import Fraction\n"
                                 "def f(x): return Fraction(1, 3)"],
    "of the builtins module": ["import builtins as b, math\n"
                               "def f(x):\n    e = b.eval\n    return e('ma' + 'th.fsum')(x)"],
    "sympy": ["import sympy\ndef f(x): return sympy.lambdify('x', 'fsum(x)', 'math')(x)"],
    "wrapped method": ["import numpy as np, functools\nclass K:\n    sum = 0\nk = K()\n"
                       "def g(a): return functools.partial(a.sum)()\n"
                       "def f(x): return g(np.array(x)) + k.sum"],
    "named self": ["import numpy as np, functools\n"
                   "def g(self): return functools.partial(self.sum)()\n"
                   "def f(x): return g(np.array(x))"],
}  # fmt: skip
RULES = (FSUM, "numpy.sum", "fractions.Fraction")


@pytest.mark.thorough
@pytest.mark.parametrize("cells", AROUND.values(), ids=AROUND)
def test_no_way_around_a_rule_earns_anything_by_itself(
    cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "sum", sum)  # so that it is as before
    found, result = verdict(cells, *RULES)
    assert found in ("refused", "doubt")
    assert float(result) in (sum(VALUES), 1 / 3)  # type: ignore[arg-type]  # it did run


def test_a_library_that_wraps_what_is_forbidden_is_for_a_person() -> None:
    source = "from torch.distributed.optim import ZeroRedundancyOptimizer as Z\ndef f(x): return Z"
    assert find_doubtful_use(source, ["torch.optim"])
    assert find_doubtful_use(source, ["torch.nn.utils"]) is None


@pytest.mark.parametrize("body", ["return math.fsum(x)", "return functools.partial(math.fsum)(x)"])
def test_a_module_that_a_cell_wrote_is_the_students(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = f"import math, functools\ndef total(x): {body}"
    (tmp_path / "colorschemes.py").write_text(text)
    cells = ["from colorschemes import total\ndef f(x): return total(x)"]
    try:
        assert verdict(cells, FSUM) == (
            "refused" if "partial" not in body else "doubt", sum(VALUES)
        )  # fmt: skip
    finally:
        del sys.modules["colorschemes"]


LOOPS = {
    "recursion": "def g(x, i): return x[i] + g(x, i + 1) if i < 20 else 0\n"
                 "def f(x): return g(x, 0)",
    "generator": "def g(x, i):\n    yield x[i]\n    if i < 20: yield from g(x, i + 1)\n"
                 "def f(x): return list(g(x, 0))",
    "iterator": "class S:\n    i = 0\n    def __iter__(self): return self\n"
                "    def __next__(self):\n        self.i += 1\n"
                "        if self.i > 20: raise StopIteration\n        return self.i\n"
                "def f(x): return list(S())",
    "sort key": "def f(x): return sorted(x, key=lambda v: -v)",
    "callback": "import re\ndef f(x): return re.sub('a', lambda m: 'b', 'a' * 20)",
    "threads": "from concurrent.futures import ThreadPoolExecutor as P\ndef g(v): return -v\n"
               "def f(x):\n    with P(1) as p: return list(p.map(g, x))",
    "objects": "import numpy as np\nclass C:\n    def __init__(s, v): s.v = v\n"
               "    def __add__(s, o): return C(s.v)\n"
               "def f(x): return np.array([C(1)]).repeat(20).sum()",
    "takewhile": "import itertools as it\ndef f(x): return list(it.takewhile(bool, x))",
    "under its name": "def f(x):\n    class K:\n        map = map\n    map = 0\n"
                      "    return list(K.map(abs, x))",
    "in a class of a function": "def f(x, map=1):\n    class K:\n        use = map\n"
                                "        if use: map = 0\n    return list(K.use(abs, x))",
    "default of a lambda": "def f(x):\n    apply = lambda map=map: list(map(abs, x))\n"
                           "    return apply()",
    "parameter of another lambda": "def f(x, g=lambda map: map): return list(map(abs, x))",
    "global in a function inside": "def f(x):\n    map = 1\n    def g():\n        global map\n"
                                   "        return list(map(abs, x))\n    return g()",
    "added to": "class C:\n    def __radd__(self, other):\n        self.found = other\n"
                "        return self\nmap += C()\ndef f(x): return list(map.found(abs, x))",
    "decorator of a method": "def take(m): return lambda go: m\ndef f(x):\n    class K:\n"
                             "        @take(map)\n        def go(): pass\n        map = 1\n"
                             "    map = 2\n    return list(K.go(abs, x))",
}  # fmt: skip


@pytest.mark.parametrize("cell", LOOPS.values(), ids=LOOPS)
def test_what_loops_otherwise_earns_nothing_by_itself(cell: str) -> None:
    assert verdict([cell], "loops")[0] in ("refused", "doubt")


TAUGHT = ("torch.optim", FSUM, "numpy.sum")
HONEST = {
    "own attributes by name": "class S:\n    names = ('m', 'v')\n"
                              "    def __init__(self): self.m = self.v = 0.0\n"
                              "    def step(self):\n        for n in self.names:\n"
                              "            setattr(self, n, getattr(self, n) + 1)\n"
                              "def f(x):\n    s = S()\n    s.step()\n    return s.m",
    "slots": "class C:\n    __slots__ = ('a',)\n    def __init__(self, a): self.a = a\n"
             "    def all(self): return [getattr(self, s) for s in self.__slots__]\n"
             "def f(x): return C(1).all()",
    "config": "class C: rate = 3\nc = C()\ndef f(x): return [getattr(c, n) for n in ('rate',)]",
    "repr": "class C:\n    def __init__(self, **k): self.__dict__.update(k)\n"
            "    def __repr__(self): return f'{type(self).__name__}({vars(self)})'\n"
            "def f(x): return repr(C(a=1))",
    "accumulator": "class Acc:\n    def __init__(self): self.sum = self.c = 0.0\n"
                   "    def add(self, v):\n        t = self.sum + v\n"
                   "        self.c += self.sum - t + v\n        self.sum = t\n"
                   "def f(x):\n    a = Acc()\n    for v in x: a.add(v)\n    return a.sum + a.c",
    "dataclass": "from dataclasses import dataclass, field\n@dataclass\nclass State:\n"
                 "    sum: float = 0.0\n    seen: list = field(default_factory=list)\n"
                 "def f(x):\n    s = State()\n    s.sum += x[0]\n    return s.sum",
    "match an own class": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
                          "    y: int\ndef f(x):\n    match P(1, 2):\n"
                          "        case P(x=a, y=b): return a + b",
    "match values": "def f(x, op='sum'):\n    match op:\n        case 'sum' | 'add': return 1\n"
                    "        case str(other): raise ValueError(f'{other!r}?')",
    "docstring": "def f(x):\n    '''torch.optim.AdamW by hand, without math.fsum.'''\n    return 1",
    "dtype by its bits": "import torch\nbits = 32\n"
                         "def f(x): return torch.zeros(1, dtype=getattr(torch, f'float{bits}'))",
    "dtype of two": "import torch\n"
                    "def f(x): return getattr(torch, 'half' if len(x) < 3 else 'float32')",
    "dtype by a constant": "import torch\nKIND = 'float' + '16'\n"
                           "def f(x): return getattr(torch, KIND)",
    "cache and wraps": "import functools\n@functools.cache\ndef c(n): return n * 2\n"
                       "def log(fn):\n    @functools.wraps(fn)\n    def w(*a, **k):\n"
                       "        return fn(*a, **k)\n    return w\n@log\ndef f(x): return c(3)",
    "module": "import torch as th\nfrom torch import nn\nimport torch.nn.functional as F\n"
              "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
              "        self.l0 = nn.Linear(1, 1)\n"
              "    def forward(self, x): return F.relu(getattr(self, f'l{0}')(x))\n"
              "def f(x): return M()(th.zeros(1))",
    "try import": "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\n"
                  "def f(x): return xp.asarray(x)",
    "typing": "from __future__ import annotations\nfrom typing import Callable, Generic, TypeVar\n"
              "T = TypeVar('T')\nclass B(Generic[T]):\n    def __init__(self, v: T): self.v = v\n"
              "def f(x: list[float], g: Callable[[int], int] | None = None) -> int:\n"
              "    return B(1).v",
    "operations": "import operator, torch\n"
                  "OPS = {'sum': lambda a, b: a + b, 'max': torch.maximum, '-': operator.sub}\n"
                  "def f(x, op='sum'): return OPS[op](torch.zeros(1), torch.ones(1))",
    "registry": "OPS = {}\ndef op(fn):\n    OPS[fn.__name__] = fn\n    return fn\n"
                "@op\ndef plus(a): return a + 1\ndef f(x): return OPS['plus'](1)",
    "enum": "from enum import Enum, auto\nclass K(Enum):\n    A = auto()\n"
            "def f(x): return K.A.name, K['A'].value",
    "context": "from contextlib import contextmanager\nimport warnings, logging, time, timeit\n"
               "log = logging.getLogger(__name__)\n@contextmanager\ndef timed():\n"
               "    t = timeit.default_timer()\n    yield t\n    log.debug('%s', time.time() - t)\n"
               "def f(x):\n    with timed(): return 1",
    "each": "import torch\ndef f(x):\n    t = [torch.tensor(x)]\n    torch._foreach_mul_(t, 2.0)\n"
            "    return t",
    "names of letters": "import numpy as np\r\nβ, ε = 0.9, 1e-8\r\n\r\n"
                        "def schätze(größe):\r\n\treturn größe * β + ε\r\n"
                        "def f(x):\r\n\treturn schätze(np.ones(3))\r\n",
    "by an own name": "import torch\nclass Trainer:\n"
                      "    def __init__(self): self.optim = {'lr': 1}\n"
                      "    def rate(self): return self.optim['lr']\n"
                      "def f(x):\n    optim = Trainer()\n    return optim.rate()",
    "after others": "import torch, math\nopt = torch.optim.SGD([torch.zeros(1)], lr=1.0)\n"
                    "torch.optim.SGD.step\nprint(math.fsum([1.0]))\ndef f(x): return torch.ones(1)",
}  # fmt: skip
WITHOUT_LOOPS = {
    "vectors": "import numpy as np\ndef size(a): return np.abs(a)\ndef f(x):\n"
               "    a = np.array(x).reshape(-1, 4)\n    i = np.argsort(-size(a), axis=1)[:, :2]\n"
               "    m = np.zeros(a.shape, bool)\n    np.put_along_axis(m, i, True, axis=1)\n"
               "    print(*x)\n    return m",
    "of other names": "import numpy as np\ndef f(x):\n    map = np.array(x)\n    filter = map > 1\n"
                      "    return map[filter]",
    "parameter of the function outside": "def f(x, filter=1):\n"
                                         "    apply = lambda y: y[0] * filter\n"
                                         "    def twice(y=filter): return y * filter\n"
                                         "    return apply(x) + twice()",
    "parameter of a lambda": "f = lambda x, map=2: (lambda y: y * map)(x[0])",
    "variable of the function around a method": "def f(x):\n    map = 3\n    class K:\n"
                                                "        class I: pass\n"
                                                "        def go(self): return map\n"
                                                "    return K().go()",
    "nonlocal": "def f(x):\n    map = 3\n    def g():\n        nonlocal map\n        map = 4\n"
                "    g()\n    return map",
    "names that are only bound": "from dataclasses import dataclass\nmap = 3\n@dataclass\n"
                                 "class K:\n    filter: int = 3\ndef f(x): return K().filter",
    "of rows": "import numpy as np\ndef f(x):\n    x = np.asarray(x)\n"
               "    return f(x[None])[0] if x.ndim == 1 else x * 2",
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("cell", HONEST.values(), ids=HONEST)
def test_honest_code_is_neither_refused_nor_left_to_a_person(cell: str) -> None:
    assert verdict([cell], *TAUGHT)[0] == "full"


@pytest.mark.parametrize("cell", WITHOUT_LOOPS.values(), ids=WITHOUT_LOOPS)
def test_code_of_whole_arrays_is_no_loop(cell: str) -> None:
    assert verdict([cell], "loops")[0] == "full"


def test_a_name_that_nobody_can_tell_is_for_a_person_and_costs_nothing() -> None:
    cell = "import torch\ndef f(x, kind='float32'): return getattr(torch, kind)"
    assert verdict([cell], "torch.optim")[0] == "doubt"


@pytest.mark.parametrize(
    "more", ["@g.register\ndef _(v: list): return 7", "def h(v): return 7\ng.register(list, h)",
             "@g.register(list)\ndef _(v): return 7"],
)  # fmt: skip
def test_what_is_registered_is_part_of_a_function(more: str) -> None:
    generic = "import functools\n@functools.singledispatch\ndef g(v): return 0"
    assert verdict([generic, more, "def f(x): return g(x)"], FSUM) == ("full", 7)


def test_no_code_of_the_students_runs_to_see_what_it_holds() -> None:
    space: dict[str, object] = {"__name__": "__main__"}
    trap = (
        "class M(type):\n    def __getattribute__(self, n): raise SystemExit\n"
        "class Trap(metaclass=M):\n    def __getattribute__(self, n): raise SystemExit\n"
        "    def __call__(self): raise SystemExit\nt = Trap()\n"
    )
    exec(compile(trap + "def f(): return t, t.a", "<ipython-input-1-a>", "exec"), space)
    assert find_reached_rules(space["f"], [FSUM]) == []


ODD = {
    "many cells": [f"# cell {i}\nprint('step', {i})" for i in range(60)],
    "much output": ["print('x' * 300_000)"],
    "a table": ["TABLE = [\n" + "    (1.25, 'abc', 17),\n" * 2_500 + "]"],
    "deep": ["deep = " + "[" * 80 + "1" + "]" * 80],
    "line ends": ["größe = 1\r\nif größe:\r\n\tprint('ä')\r\n"],
    "magics": ["%time y = 3", "%%time\ny = 4", "%matplotlib inline\n!echo hello\nimport time"],
}  # fmt: skip


@pytest.mark.thorough
def test_long_and_odd_notebooks_keep_full_marks() -> None:
    key = a_code_key(forbid=(FSUM, "torch.optim"))
    answer = "import numpy as np\r\n\r\ndef q1_f(x, by=2):\r\n\treturn x * by\r\n"
    uses = "def q1_g(x, by=2): return x * by * (len(TABLE) > 0) * (größe if deep else 0)"
    cells = [cell for cells in ODD.values() for cell in cells]
    evidence = ran(*cells, answer, uses, keys={"q1_f": key, "q1_g": key})
    assert judged(evidence, "q1_f", key).share == 1
    assert judged(evidence, "q1_g", key).share == 1


@pytest.mark.parametrize("name", ["torch._fused_adamw_", "torch.ops.aten._fused_adam_"])
@pytest.mark.parametrize("problem", ["adamw-step", "sharded-optimizer-step"])
def test_an_optimizer_is_not_written_with_its_fused_kernel(problem: str, name: str) -> None:
    bank = Bank.open()
    keys = draw(bank.problem(problem), sample_seed(problem, 0), bank.facts).keys.values()
    forbidding = [k.part.forbid for k in keys if isinstance(k, CodeKey) and k.part.forbid]
    assert forbidding
    assert all(find_forbidden_use(f"import torch\nstep = {name}", one) for one in forbidding)


def test_lines_are_named_only_if_something_is_forbidden() -> None:
    assert list_forbidden_lines("import math\nmath.fsum([1])", ("math.fsum",)) == [
        (2, "`math.fsum`")
    ]
    assert list_forbidden_lines("import math\nmath.fsum([1])", ()) == []
