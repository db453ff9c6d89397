"""What memory has to do: a model of a cache, and the pages that a process really touched first."""


class Cache:
    """A cache of `size` bytes: lines of `line` bytes, `ways` of them in a set (all, unless given).
    Of a set that is full, the line that was not used for the longest time makes room."""

    def __init__(self, size, line=64, ways=None):
        self.line, self.ways = line, ways or size // line
        self.sets = [{} for _ in range(size // line // self.ways)]
        self.hits = self.misses = 0

    def touch(self, address):
        """One access to the byte at `address`; True when its line was there."""
        number = address // self.line
        lines = self.sets[number % len(self.sets)]
        hit = lines.pop(number, None) is not None
        if not hit and len(lines) == self.ways:
            del lines[next(iter(lines))]
        lines[number] = True
        self.hits += hit
        self.misses += not hit
        return hit


def page_faults(function, *args):
    """Pages that `function(*args)` made the system map for the first time (not on Windows)."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function(*args)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
