"""How many kernels a piece of PyTorch code launches; on a CPU, how many its operators would.

On a GPU a launch is what CUDA is asked for, as the profiler (CUPTI) sees it: a kernel, a graph as a
whole, a memset, a copy from the device to itself. On a CPU it is an operator that reaches a kernel
of its backend, seen below autograd, so that the operators of a backward pass count as well:

- Whatever computes, copies or fills is one launch, however large (`a + b`, `x.mul_(2)`, `zeros`).
- A fused operator is one: `addcmul`, `lerp`, and `torch._foreach_add_` over a whole list.
- Looking at a tensor in another way (`x.T`, `x[0]`, `x.view(...)`, `x.t_()`), allocating without
  writing (`empty`) and reading a number (`.item()`) launch nothing.
- Of an operator that is made of others (`matmul`, `linear`), those others count.
"""

import secrets

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.autograd.profiler import profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode

_SILENT = ("empty", "new_empty", "_unsafe_view", "_local_scalar", "item", "is_nonzero", "resize_")
_ASKED_OF_CUDA = ("cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch", "cudaMemset")
_WITHIN_THE_DEVICE = "Memcpy DtoD"


def _is_silent(operator):
    """Whether an overload of an operator launches nothing."""
    return (
        operator.is_view
        or torch.Tag.inplace_view in operator.tags
        or operator.overloadpacket.__name__.startswith(_SILENT)
    )


class _Dispatched(TorchDispatchMode):
    """Counts by operator in `launched`; in the profile every one stands below an event `mark`."""

    # As they are now, whatever becomes of them later.
    __enter__, __exit__ = TorchDispatchMode.__enter__, TorchDispatchMode.__exit__

    def __init__(self):
        super().__init__()
        self.launched, self.all, self.mark = {}, 0, "launches-" + secrets.token_hex(8)

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # PyTorch would import its compiler, which takes more than a second

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with self:
            result = function.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        self.all += 1
        with record_function(self.mark):
            result = function(*args, **kwargs)
        if not _is_silent(function):
            name = function.overloadpacket.__name__
            self.launched[name] = self.launched.get(name, 0) + 1
        return result

    @property
    def number(self):
        """Of launches so far."""
        return sum(self.launched.values())


def _profiled(device=None):
    # Not torch.profiler's, which imports PyTorch's compiler.
    try:
        config = _ExperimentalConfig(profile_all_threads=True)
    except TypeError:  # an older PyTorch sees this thread alone
        config = None
    return profile(use_device=device, use_kineto=True, experimental_config=config)


def _events(profiled):
    return profiled.kineto_results.events()


def _unseen(events, mark):
    """Launches that no mode saw: in another thread, or where modes were switched off. Operators
    that are not below *mark* count when they compute and no operator below them does."""
    threads = {}
    for e in events:
        threads.setdefault(e.start_thread_id(), []).append((e.start_ns(), -e.end_ns(), e.name()))
    found = 0
    for each in threads.values():
        open_ = []  # [end, name, whether something below it counts]
        for start, end, name in [*sorted(each), (float("inf"), 0, "")]:
            while open_ and open_[-1][0] <= start:
                _, ended, counts = open_.pop()
                if not counts and _computes(ended):
                    found, counts = found + 1, True
                if counts and open_:
                    open_[-1][2] = True
            if not any(above == mark for _, above, _ in open_):
                open_.append([-end, name, name == mark])
    return found


def _computes(name):
    if not name.startswith("aten::"):
        return False
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
    overloads = [getattr(packet, each) for each in packet.overloads()] if packet else []
    return not any(map(_is_silent, overloads))


def _on_cpu(run):
    """What `run()` returns, and its launches; None for these when PyTorch was tampered with."""
    # Additions of ours before and after: they must be seen, or nothing of what is seen is true.
    one, (before, after) = torch.zeros(1), (secrets.randbelow(7) + 2 for _ in range(2))
    mode = _Dispatched()
    with _profiled() as profiled, mode:
        for _ in range(before):
            one.add_(1)
        start = mode.number
        result = run()
        end = mode.number
        for _ in range(after):
            one.add_(1)
    events = _events(profiled)
    marks = sum(event.name() == mode.mark for event in events)
    if (start, mode.number - end, marks) != (before, after, mode.all):
        return result, None
    return result, end - start + _unseen(events, mode.mark)


def _asked(names):
    """Launches among the names of a profile's events, of CUDA's interface and of the device."""
    return sum(name.startswith((*_ASKED_OF_CUDA, _WITHIN_THE_DEVICE)) for name in names)


def _on_cuda(run):
    """The same where CUDA is asked; all of it has been done when this returns."""

    def seen(work):
        torch.cuda.synchronize()
        with _profiled("cuda") as profiled:
            result = work()
            torch.cuda.synchronize()
        return result, _asked(event.name() for event in _events(profiled))

    def ours():
        for _ in range(number):
            one.add_(1)

    number, one = secrets.randbelow(7) + 2, torch.zeros(1, device="cuda")
    seen(ours)  # the first profile of a process loads what the next ones find
    fair = seen(ours)[1] == number
    result, found = seen(run)
    return result, found if fair and seen(ours)[1] == number else None


def _every_tensor(value):
    found, left = [], [value]
    while left:
        item = left.pop()
        if isinstance(item, torch.Tensor):
            found.append(item)
        elif isinstance(item, (list, tuple)):
            left += reversed(item)
        elif isinstance(item, dict):
            left += reversed(item.values())
    return found


def counted(function, *args, backward=False):
    """What `function(*args)` returns, and its launches: on a GPU when an argument lies there.

    With `backward`, the pair of the result and of the gradients of those tensors in `args` that
    require one, when every element of the result has the gradient 1; the launches of both passes.
    None for the launches when PyTorch was changed so that they can't be counted.
    """
    where = _on_cuda if any(t.is_cuda for t in _every_tensor(args)) else _on_cpu
    result, launched = where(lambda: function(*args))
    if not backward:
        return result, launched
    roots = [t for t in _every_tensor(result) if t.requires_grad]
    ones = [torch.ones_like(t) for t in roots]
    more = 0
    if roots:
        _, more = where(lambda: torch.autograd.backward(roots, ones))
    gradients = [t.grad for t in _every_tensor(args) if t.is_leaf and t.requires_grad]
    return [result, gradients], None if None in (launched, more) else launched + more


def launches(function, *args, backward=False):
    """Kernel launches of `function(*args)`; with `backward`, also of the pass that goes back.

    Raises RuntimeError when PyTorch was changed so that they can't be counted.
    """
    found = counted(function, *args, backward=backward)[1]
    if found is None:
        raise RuntimeError("launches can't be counted: PyTorch was changed in this process")
    return found
