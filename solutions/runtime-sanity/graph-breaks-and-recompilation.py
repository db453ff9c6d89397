"""Compiles with torch.compile and a backend that counts, instead of applying the rules."""

import contextlib
import functools
import io
import logging
import re
from unittest import mock

import torch
import torch._dynamo as dynamo
from torch._dynamo.testing import CompileCounter
from torch.fx.experimental.proxy_tensor import make_fx

SETTINGS = {"dynamic=False": False, "default": None, "dynamic=True": True}


def solve(given):
    shapes = tuple(tuple(map(int, p)) for p in re.findall(r"(\d+) × (\d+)", given["sizes"]))
    counts = [compilations(shapes, dynamic) for dynamic in SETTINGS.values()]
    saved = given["eager_time"] - given["compiled_time"]
    spent = 1000 * given["compile_time"] * counts[1]
    steps = round(spent / saved) - 2
    while spent + steps * given["compiled_time"] >= steps * given["eager_time"]:
        steps += 1
    return {
        "compilations": [[count] for count in counts],
        "graphs": graphs(given["line1"], given["line2"], given["line3"]),
        "printed": [[printed(shapes)], [traced(shapes)]],
        "pays": steps,
        "execution": {
            "eager": "immediate",
            "traced": "trace",
            "session": "separate",
            "compiled": "mixed",
        },
    }


def quiet(function):
    """Runs a function without the warnings of the compiler, and on a clean slate."""

    @functools.cache
    @functools.wraps(function)
    def inner(*arguments):
        logger = logging.getLogger("torch._dynamo")
        level = logger.level
        logger.setLevel(logging.ERROR)
        dynamo.reset()
        # Each compilation would also measure its guards, which takes a third of the time.
        unmeasured = mock.patch("torch._dynamo.guards.profile_guard_manager", return_value=0.0)
        try:
            with unmeasured:
                return function(*arguments)
        finally:
            dynamo.reset()
            logger.setLevel(level)

    return inner


@quiet
def compilations(shapes, dynamic):
    counter = CompileCounter()
    function = torch.compile(
        lambda x: x / x.shape[0] + x.shape[1], backend=counter, dynamic=dynamic
    )
    for shape in shapes:
        function(torch.ones(shape))
    return counter.frame_count


LINES = (
    (
        'print("first layer")',
        "if x.sum() > 0: x = x - 1",
        "if x.shape[1] > 100: x = x - 1",
        "x = torch.where(x.sum() > 0, x - 1, x)",
    ),
    (
        'print("second layer")',
        "if x.max() > 9: x = x / 9",
        "if x.dtype == torch.float32: x = x / 9",
        "x = x.clamp(max=9)",
    ),
    (
        'print("third layer")',
        "if x.min() < 1: x = x + 1",
        "if len(x) > 1: x = x + 1",
        "x = torch.where(x.min() < 1, x + 1, x)",
    ),
)


@quiet
def graphs(*choices):
    source = ["def block(x):"]
    for lines, chosen in zip(LINES, choices, strict=True):
        source += ["    x = torch.relu(x @ w)", f"    {lines[chosen - 1]}"]
    source.append("    return x.softmax(-1)")
    names = {"torch": torch, "w": torch.randn(8, 8)}
    exec("\n".join(source), names)
    counter = CompileCounter()
    with contextlib.redirect_stdout(io.StringIO()):
        torch.compile(names["block"], backend=counter)(torch.ones(4, 8))
    return counter.frame_count


def noisy(x):
    y = x * 2
    print("between")
    return y + 1


@quiet
def printed(shapes):
    function = torch.compile(noisy, backend=CompileCounter(), dynamic=True)
    with contextlib.redirect_stdout(io.StringIO()) as written:
        for shape in shapes:
            function(torch.ones(shape))
    return len(written.getvalue().splitlines())


@quiet
def traced(shapes):
    """A jit as simple as possible: a trace for each new shape, which later calls run."""
    traces = {}
    with contextlib.redirect_stdout(io.StringIO()) as written:
        for shape in shapes:
            if shape not in traces:
                traces[shape] = make_fx(noisy)(torch.ones(shape))
            traces[shape](torch.ones(shape))
    return len(written.getvalue().splitlines())
