"""Memory behavior: a model of a cache, and the number of pages that a process first touches."""


class Cache:
    """A cache of `size` bytes: lines of `line` bytes, `ways` of them per set (all, if not given). A
    full set evicts its least recently used line."""

    def __init__(self, size, line=64, ways=None):
        self.line, self.ways = line, ways or size // line
        self.sets = [{} for _ in range(size // line // self.ways)]
        self.hits = self.misses = 0

    def touch(self, address):
        """Accesses the byte at `address`; returns True if its line was cached."""
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
    """Returns the number of pages that `function(*args)` mapped for the first time (not on
    Windows)."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function(*args)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
