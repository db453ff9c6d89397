"""Triton kernels by Triton's own interpreter, watched, and compiled for a GPU where there is one.

    def add(x, y, out, n, BLOCK: "tl.constexpr"):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
        tl.store(out + i, total, mask=i < n)

    triton_launch(add, 2, x, y, out, 100, BLOCK=64)

`tl` is `triton.language`. It goes with the tool `triton_memory`, which finds mistakes and counts.
The kernel gets a pointer for each array or tensor; results are copied back, and all arguments
returned. Programs run one after the other. What a masked load gives without `other` is undefined,
and here NaN (or the largest integer). With a GPU the results are those of the compiled kernel, once
the interpreter has found nothing wrong with it.
"""

import contextlib
import importlib
import math
import os
import sys
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.triton_memory import TritonMemory  # noqa: TC004  # from the cell above

MOST_PROGRAMS = 65_536


class TritonMissingError(Exception):
    """Triton can't be imported."""


class LaunchError(Exception):
    """Not a launch that a GPU could make."""


class _Missing:
    """Stands for `tl` where there is no Triton: kernels can be written, and not run."""

    def __init__(self, why):
        self._why = why

    def __getattr__(self, name):
        if name == "constexpr":  # of annotations
            return name
        raise TritonMissingError(f"Triton is missing: pip install triton ({self._why})")


def triton_language():
    """The module `triton.language`, or what says that it is missing."""
    if "triton" not in sys.modules:
        # By this a kernel that is launched by itself, with `kernel[grid](...)`, is interpreted.
        os.environ.setdefault("TRITON_INTERPRET", "0" if _gpu() else "1")
    try:
        return importlib.import_module("triton.language")
    except ImportError as error:
        return _Missing(str(error))


def _gpu():
    try:
        return importlib.import_module("torch").cuda.is_available()
    except ImportError:
        return False


tl = _language = triton_language()  # a notebook may give the name `tl` to something else
if isinstance(tl, _Missing):
    print("Triton is not installed: kernels can be written here, and not run (pip install triton)")


def _poison(interpreter, pointers):
    """What a masked load without `other` gives for lanes that are switched off."""
    dtype = pointers.get_element_ty()
    data = np.zeros(pointers.data.shape, dtype=interpreter._get_np_dtype(dtype))
    if data.dtype.kind == "f":
        data[...] = np.nan
    elif str(dtype) == "bf16":
        data[...] = 0x7FC0
    elif data.dtype.kind in "iu" and not dtype.is_floating():
        data[...] = np.iinfo(data.dtype).max
    return interpreter.TensorHandle(data, dtype)


@contextlib.contextmanager
def _watched(interpreter, memory):
    """While it lasts, the interpreter's accesses go to *memory*."""
    builder, pointer = interpreter.interpreter_builder, interpreter.TensorHandle
    usual_cast = interpreter._implicit_cvt
    load, store = builder.create_masked_load, builder.create_masked_store
    update, swap = builder.create_atomic_rmw, builder.create_atomic_cas

    def real(kind, pointers, mask, value=None):
        data = memory.used(kind, pointers.data, mask, value)
        return pointer(data, pointers.dtype)

    def loads(pointers, mask, other, *more, **named):
        other = _poison(interpreter, pointers) if other is None else other
        return load(real("load", pointers, mask.data), mask, other, *more, **named)

    def stores(pointers, value, mask, *more, **named):
        return store(real("store", pointers, mask.data, value.data), value, mask, *more, **named)

    def updates(operation, pointers, value, mask, *more):
        there = real("atomic", pointers, mask.data)
        return update(operation, there, value, mask, *more)

    def swaps(pointers, *more):
        return swap(real("atomic", pointers, True), *more)

    def cast(argument):
        found = usual_cast(argument)
        start = memory.start_of(argument.data_ptr()) if hasattr(argument, "data_ptr") else None
        if start is not None:
            found.handle.data = np.array([start], dtype=np.uint64)
        return found

    watched = {
        "create_masked_load": loads,
        "create_masked_store": stores,
        "create_atomic_rmw": updates,
        "create_atomic_cas": swaps,
    }
    vars(builder).update(watched)
    interpreter._implicit_cvt = cast
    try:
        yield
    finally:
        interpreter._implicit_cvt = usual_cast
        for name in watched:
            del vars(builder)[name]


@contextlib.contextmanager
def _interpreted(interpreter, space):
    """While it lasts, all that was made to be compiled is interpreted; after it all is as before.

    The interpreter changes the language's modules and the kernel's own names, and leaves some so.
    """
    compiled = importlib.import_module("triton.runtime.jit").JITFunction
    known, kept = interpreter.InterpretedFunction.rewritten_fn, []
    rewritten = set(known)
    owners = [m for n, m in sys.modules.items() if n.startswith("triton.language") and m]
    owners += [
        _language.tensor,
        _language.dtype,
        *(filter(None, [getattr(_language, "condition", None)])),
    ]
    owners += [one for n, one in vars(_language.core).items() if n.startswith("tensor_descriptor")]
    made = {}
    for owner in [*owners, space]:
        names = owner if isinstance(owner, dict) else vars(owner)
        kept.append((owner, dict(names)))
    for owner, names in kept:
        for name, one in names.items():
            if isinstance(one, compiled):
                if id(one) not in made:
                    made[id(one)] = interpreter.InterpretedFunction(one.fn)
                found = made[id(one)]
                _put(owner, name, found if owner is not _language.tensor else _method(found))
    try:
        yield
    finally:
        for owner, names in kept:
            now = dict(owner if isinstance(owner, dict) else vars(owner))
            for name in now.keys() | names.keys():
                if now.get(name) is not names.get(name):
                    _put(owner, name, names.get(name))
        for function in set(known) - rewritten:
            del known[function]


def _method(function):
    def method(self, *arguments, **named):
        return function(self, *arguments, **named)

    return method


def _put(owner, name, value):
    if isinstance(owner, dict):
        owner.update({name: value})
        if value is None:
            del owner[name]
    elif value is None:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


def _function(kernel):
    """The plain function of a kernel, with or without `@triton.jit` and the like."""
    while not isinstance(kernel, FunctionType) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    if not isinstance(kernel, FunctionType):
        raise LaunchError("the kernel is not a function")
    for name in kernel.__code__.co_names:
        helper = kernel.__globals__.get(name)
        if isinstance(helper, FunctionType) and helper.__module__ == kernel.__module__:
            raise LaunchError(f"{name} is a plain function: a kernel calls those with @triton.jit")
    return kernel


def _sizes(grid, constants):
    grid = grid(constants) if callable(grid) else grid
    sizes = tuple(map(int, grid)) if isinstance(grid, (tuple, list)) else (int(grid),)
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise LaunchError(f"a grid has one to three sizes of at least 1, and this one is {sizes}")
    if math.prod(sizes) > MOST_PROGRAMS:
        raise LaunchError(f"{math.prod(sizes)} programs take too long here")
    return sizes


def triton_launch(kernel, grid, *args, recorder=None, **constants):
    """Runs a kernel over *grid* (a number, or up to three) and returns its arguments.

    Arrays and tensors are changed in place. *recorder*, a Traffic, counts what was moved.
    """
    if isinstance(_language, _Missing):
        _language.load  # noqa: B018  # which says what is missing
    torch = importlib.import_module("torch")
    interpreter = importlib.import_module("triton.runtime.interpreter")
    function, sizes = _function(kernel), _sizes(grid, constants)
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    named = [(n, t) for n, t in zip(names, tensors, strict=False) if isinstance(t, torch.Tensor)]
    memory = TritonMemory(torch, named, recorder, interpreter.interpreter_builder)
    if recorder is not None:
        recorder.programs += math.prod(sizes)
    copies = {id(one.given): one for one in memory.all()}
    inside = [copies[id(t)].flat if id(t) in copies else t for t in tensors]
    space = function.__globals__
    # What Triton imports at its first conversion must find the language as it is.
    interpreter._implicit_cvt(torch.zeros(1))
    with _interpreted(interpreter, space), _watched(interpreter, memory):
        space["tl"] = _language
        try:
            with np.errstate(all="ignore"):
                ready = interpreter.InterpretedFunction(function)
                _plain(ready.rewrite())
                ready[sizes](*inside, **constants)
        except Exception as error:
            raise _cause(error) from None
    if _gpu():
        _compiled(torch, function, sizes, tensors, constants)
    else:
        for one in memory.all():
            one.given.copy_(one.view)
    return list(args)


def _plain(rewritten):
    """Takes quotes off its annotations, of which the interpreter makes texts once more."""
    notes = rewritten.__annotations__
    notes.update({k: v.strip("'\"") for k, v in notes.items() if isinstance(v, str)})


def _cause(error):
    """What was raised in the kernel, out of what the interpreter wraps around it."""
    while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__
    return error


def _compiled(torch, function, sizes, tensors, constants):
    """The same on the GPU, whose results are what counts there."""
    space = function.__globals__
    missing = object()
    before = space.get("tl", missing)
    space["tl"] = _language
    there = [t.to("cuda") if isinstance(t, torch.Tensor) else t for t in tensors]
    try:
        importlib.import_module("triton.runtime.jit").JITFunction(function)[sizes](
            *there, **constants
        )
        torch.cuda.synchronize()
    finally:
        if before is missing:
            del space["tl"]
        else:
            space["tl"] = before
    for mine, other in zip(tensors, there, strict=True):
        if isinstance(mine, torch.Tensor):
            mine.copy_(other)
