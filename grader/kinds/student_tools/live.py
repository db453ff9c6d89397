"""How many elements of tensors are alive: `with Live(x, y) as live: f(x, y)`, then `live.most`."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Live(TorchDispatchMode):
    """Counts the elements of the tensors that are made inside and alive: `now`, and at `most`.

    Tensors that share their memory count once, those in *old* not at all. With `floats` only
    tensors of floating-point numbers count.
    """

    def __init__(self, *old, floats=False):
        super().__init__()
        self.now = self.most = 0
        self.floats = floats
        self.known = {t.untyped_storage()._cdata: None for t in old}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for t in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(t, torch.Tensor) and (t.is_floating_point() or not self.floats):
                self._see(t.untyped_storage(), t.element_size())
        return result

    def _see(self, storage, size):
        key, count = storage._cdata, storage.nbytes() // size
        if key not in self.known:
            self.known[key] = weakref.ref(storage, lambda _: self._gone(key, count))
            self.now += count
            self.most = max(self.most, self.now)

    def _gone(self, key, count):
        del self.known[key]
        self.now -= count
