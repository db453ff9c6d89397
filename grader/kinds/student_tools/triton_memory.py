"""What Triton kernels move between tensors and registers, and the mistakes that show there.

It goes with the tool `triton_blocks`, whose launches it watches. A lane that loads or stores
outside the tensor whose pointer its address was made of raises OutOfRangeError. Programs have no
order: if one needs, or changes, what another one has written, DataRaceError is raised. Traffic
counts:

    traffic = Traffic()
    triton_launch(add, 2, x, y, out, 100, BLOCK=64, recorder=traffic)
    print(traffic["x"].loads, traffic.bytes)
"""

import numpy as np


class OutOfRangeError(Exception):
    """A lane used an address outside of its tensor."""


class DataRaceError(Exception):
    """What an element holds depends on the order of programs, or of lanes."""


class Moved:
    """What all programs together moved between one tensor and their registers."""

    def __init__(self):
        self.loads = self.stores = self.atomics = 0  # elements, each time
        self.masked = 0  # lanes that a mask kept from it
        self.size = 0  # bytes of an element

    def __str__(self):
        return (
            f"{self.loads} loads, {self.stores} stores, {self.atomics} atomic operations of "
            f"{self.size} bytes; {self.masked} lanes masked"
        )

    @property
    def bytes(self):
        """Of all loads and stores, and of atomic operations twice."""
        return self.size * (self.loads + self.stores + 2 * self.atomics)


class Traffic:
    """What a launch moved, by the names of the kernel's arguments."""

    def __init__(self):
        self.programs = 0
        self.tensors = {}

    def __getitem__(self, name):
        return self.tensors.setdefault(name, Moved())

    @property
    def bytes(self):
        """Of all tensors."""
        return sum(moved.bytes for moved in self.tensors.values())

    def __str__(self):
        lines = [f"{self.programs} programs, {self.bytes} bytes"]
        return "\n".join([*lines, *(f"{name}: {moved}" for name, moved in self.tensors.items())])


# An address says in its upper bits of which tensor it was made, however far off it is.
_SHIFT = np.uint64(48)
_MIDDLE = 1 << 47
_NOBODY, _SEVERAL = -1, -2


class _Tensor:
    """A tensor's elements in memory of their own, and who has used each."""

    def __init__(self, torch, name, number, tensor):
        self.name = name
        self.given = tensor
        self.size = tensor.element_size()
        span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        span = span if tensor.numel() else 0
        self.flat = torch.zeros(max(span, 1), dtype=tensor.dtype)
        self.view = self.flat.as_strided(tensor.shape, tensor.stride())
        self.view.copy_(tensor)
        self.start = (number << int(_SHIFT)) + _MIDDLE
        inside = torch.zeros(max(span, 1), dtype=torch.bool)
        inside.as_strided(tensor.shape, tensor.stride()).fill_(True)
        self.inside = inside.numpy()
        integer = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[self.size]
        self.bits = self.flat.view(integer).numpy()
        self.reader = np.full(span or 1, _NOBODY)
        self.writer = np.full(span or 1, _NOBODY)


class TritonMemory:
    """All tensors of a launch."""

    def __init__(self, torch, named, recorder, builder):
        self._tensors = {}
        self._builder = builder
        self._traffic = recorder
        for number, (name, tensor) in enumerate(named, start=1):
            self._tensors[number] = _Tensor(torch, name, number, tensor)

    def all(self):
        return self._tensors.values()

    def start_of(self, address):
        """The address to compute with, of the tensor whose elements begin at *address*."""
        return next((t.start for t in self.all() if t.flat.data_ptr() == address), None)

    def program(self):
        """The number of the program that runs, and its place in the grid."""
        at, sizes = self._builder.grid_idx, self._builder.grid_dim
        return at[0] + sizes[0] * (at[1] + sizes[1] * at[2]), tuple(at)

    def used(self, kind, addresses, mask, value=None):
        """The real addresses, of lanes that may be used as they are; raises what is wrong."""
        active = np.broadcast_to(np.asarray(mask, dtype=bool), addresses.shape)
        real = np.zeros_like(addresses)
        numbers = addresses >> _SHIFT
        for number in np.unique(numbers):
            mine = active & (numbers == number)
            tensor = self._tensors.get(int(number))
            if tensor is None:
                if mine.any():
                    raise OutOfRangeError("an address that was made of no tensor's pointer is used")
                continue
            at = self._places(tensor, addresses[mine], mine)
            self._count(kind, tensor, at, int((~active & (numbers == number)).sum()))
            if kind == "load":
                self._loaded(tensor, at)
            elif kind == "store":
                bits = np.broadcast_to(value, addresses.shape)[mine]
                self._stored(tensor, at, bits)
            real[mine] = np.uint64(tensor.flat.data_ptr()) + (at * tensor.size).astype(np.uint64)
        return real

    def _places(self, tensor, addresses, mine):
        offset = (addresses - np.uint64(tensor.start)).astype(np.int64)
        at, rest = np.divmod(offset, tensor.size)
        limit = len(tensor.inside)
        wrong = (at < 0) | (at >= limit) | (rest != 0)
        wrong |= ~tensor.inside[np.clip(at, 0, limit - 1)]
        if wrong.any():
            first = int(np.argmax(wrong))
            lane = int(np.flatnonzero(mine)[first])
            _, place = self.program()
            name, count = tensor.name, tensor.given.numel()
            raise OutOfRangeError(
                f"out of range: element {at[first]} of {name}, which has {count}, "
                f"used by lane {lane} of program {place}"
            )
        return at

    def _count(self, kind, tensor, at, masked):
        if self._traffic is not None:
            moved = self._traffic[tensor.name]
            moved.size = tensor.size
            moved.masked += masked
            name = {"load": "loads", "store": "stores"}.get(kind, "atomics")
            setattr(moved, name, getattr(moved, name) + len(at))

    def _loaded(self, tensor, at):
        me, place = self.program()
        others = ~np.isin(tensor.writer[at], (_NOBODY, me))
        if others.any():
            element, name = at[np.argmax(others)], tensor.name
            raise DataRaceError(
                f"a race: element {element} of {name} is loaded by program {place}, "
                "and stored by another one"
            )
        before = tensor.reader[at]
        tensor.reader[at] = np.where((before == _NOBODY) | (before == me), me, _SEVERAL)

    def _stored(self, tensor, at, bits):
        me, place = self.program()
        bits = np.ascontiguousarray(bits)
        bits = bits.view(f"i{tensor.size}") if bits.itemsize == tensor.size else bits
        changes = tensor.bits[at] != bits
        users = np.stack([tensor.reader[at], tensor.writer[at]])
        others = (~np.isin(users, (_NOBODY, me))).any(0) & changes
        if others.any():
            element, name = at[np.argmax(others)], tensor.name
            raise DataRaceError(
                f"a race: element {element} of {name} is stored by program {place}, "
                "and used by another one"
            )
        order = np.argsort(at, kind="stable")
        twice = (np.diff(at[order]) == 0) & (np.diff(bits[order]) != 0)
        if twice.any():
            element, name = at[order][np.argmax(twice)], tensor.name
            raise DataRaceError(
                f"a race: two lanes of program {place} store unlike values in element {element} "
                f"of {name}"
            )
        tensor.writer[at] = me
