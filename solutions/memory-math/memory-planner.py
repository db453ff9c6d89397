"""The second road marks single steps and bytes; the chain is run with a list of what is alive."""

from itertools import accumulate

import numpy as np


def peak(tensors):
    events = []
    for size, first, last in tensors:
        events += [(first, size), (last + 1, -size)]
    most = now = 0
    for _step, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def peak_right_at_starts(tensors):
    """The peak is reached in a step in which something starts."""
    return max(
        (sum(s for s, f, until in tensors if f <= step <= until) for _, step, _ in tensors),
        default=0,
    )


def peak_right_numpy(tensors):
    if not len(tensors):
        return 0
    size, first, last = np.array(tensors, dtype=np.int64).T
    steps = np.concatenate([first, last + 1])
    change = np.concatenate([size, -size])
    order = np.lexsort((change, steps))
    return int(np.cumsum(change[order]).max())


def peak_expected(tensors):
    steps = {step for _, first, last in tensors for step in (first, last)}
    alive = dict.fromkeys(steps, 0)
    for size, first, last in tensors:
        for step in steps:
            alive[step] += size if step in range(first, last + 1) else 0
    return max(alive.values(), default=0)


def _drawn(rng, count, steps, sizes, longest):
    found = []
    for _ in range(count):
        first = int(rng.integers(0, steps))
        size = int(rng.integers(*sizes))
        found.append((size, first, first + int(rng.integers(0, longest))))
    return found


def peak_cases(rng, given):
    yield "few", {"tensors": []}
    yield "few", {"tensors": [(7, 3, 3)]}
    yield "few", {"tensors": [(10, 0, 4), (20, 5, 9), (15, 10, 12)]}
    yield "few", {"tensors": [(10, 0, 5), (20, 5, 9), (25, 9, 9)]}
    yield "few", {"tensors": [(8, 1, 4), (8, 1, 4), (5, 4, 6), (8, 1, 4)]}
    for count, steps in ((12, 10), (40, 30), (150, 60)):
        yield "many", {"tensors": _drawn(rng, count, steps, (1, 5000), 12)}
    yield (
        "many",
        {"tensors": [(int(n), 2 * i, 2 * i + 1) for i, n in enumerate(rng.integers(1, 99, 30))]},
    )
    far = [
        (s, f * 10_000_000, until * 10_000_000) for s, f, until in _drawn(rng, 30, 60, (1, 900), 30)
    ]
    yield "far apart", {"tensors": far}
    yield "far apart", {"tensors": [(3, 0, 10**9), (9, 10**9, 10**9), (8, 5, 10**9 - 1)]}


def peak_wrong_all(tensors):
    return sum(size for size, _, _ in tensors)


def peak_wrong_last_not_included(tensors):
    events = []
    for size, first, last in tensors:
        events += [(first, size), (last, -size)]
    most = now = 0
    for _step, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def peak_wrong_equal_tensors_once(tensors):
    return peak(set(map(tuple, tensors)))


def peak_wrong_freed_too_late(tensors):
    """In a step where one ends and another starts a step later, both are counted."""
    events = []
    for size, first, last in tensors:
        events += [(first, 0, size), (last + 1, 1, -size)]
    most = now = 0
    for _step, _order, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def peak_wrong_step_by_step(tensors):
    """Takes for ever when there are many steps; here it gives up."""
    last_step = max((last for _, _, last in tensors), default=-1)
    if last_step > 10**6:
        raise MemoryError
    alive = [0] * (last_step + 2)
    for size, first, last in tensors:
        alive[first] += size
        alive[last + 1] -= size
    return max(accumulate(alive), default=0)


def peak_wrong_nothing_given(tensors):
    """Right, but for an empty list."""
    return max(sum(s for s, f, until in tensors if f <= at <= until) for _, at, _ in tensors)


def peak_wrong_largest_tensor(tensors):
    return max((size for size, _, _ in tensors), default=0)


def plan(tensors, alignment=64):
    offsets = [0] * len(tensors)
    placed = []
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        offset = 0
        for start, end, f, until in sorted(placed):
            if f > last or until < first:
                continue
            if offset + size <= start:
                break
            offset = max(offset, -(-end // alignment) * alignment)
        offsets[i] = offset
        placed.append((offset, offset + size, first, last))
    return offsets


def plan_right_tries_candidates(tensors, alignment=64):
    """Offset 0 and the end of every tensor in the way are all that can be lowest."""
    found = {}
    for i, (size, first, last) in sorted(enumerate(tensors), key=lambda t: t[1][0], reverse=True):
        others = [
            (found[j], found[j] + tensors[j][0])
            for j in found
            if max(first, tensors[j][1]) <= min(last, tensors[j][2])
        ]
        candidates = [0] + [(end + alignment - 1) // alignment * alignment for _, end in others]
        found[i] = min(
            at for at in candidates if all(at + size <= start or at >= end for start, end in others)
        )
    return [found[i] for i in range(len(tensors))]


def plan_right_marks_blocks(tensors, alignment=64):
    """A table of aligned blocks by steps, in which a tensor takes a free rectangle."""
    steps = sorted({s for _, first, last in tensors for s in (first, last)})
    column = {s: i for i, s in enumerate(steps)}
    blocks = sum(-(-size // alignment) for size, _, _ in tensors)
    taken = np.zeros((blocks + 1, len(steps) + 1), dtype=bool)
    offsets = np.zeros(len(tensors), dtype=np.int64)
    for i in np.argsort([-size for size, _, _ in tensors], kind="stable"):
        size, first, last = tensors[i]
        height = -(-size // alignment)
        during = slice(column[first], column[last] + 1)
        free = ~taken[:, during].any(axis=1)
        at = next(b for b in range(blocks + 1) if free[b : b + height].all())
        taken[at : at + height, during] = True
        offsets[i] = at * alignment
    return offsets


def plan_expected(tensors, alignment):
    return ...


def plan_holds(inputs, result):
    tensors, alignment = inputs["tensors"], inputs["alignment"]
    offsets = [int(x) for x in result]
    if len(offsets) != len(tensors):
        yield f"there are {len(offsets)} offsets for {len(tensors)} tensors"
        return
    if any(int(x) != x or x < 0 for x in result):
        yield "an offset is no whole number from 0 on"
    if any(x % alignment for x in offsets):
        yield "an offset is not a multiple of the alignment"
    spans = [(x, x + size, f, until) for x, (size, f, until) in zip(offsets, tensors, strict=True)]
    for i, (start, end, first, last) in enumerate(spans):
        for other, stop, f, until in spans[:i]:
            if start < stop and other < end and first <= until and f <= last:
                yield "two tensors that are needed in one step overlap"
                return
    best = plan_right_tries_candidates(tensors, alignment)
    allowed = max((x + t[0] for x, t in zip(best, tensors, strict=True)), default=0)
    needed = max((end for _, end, _, _ in spans), default=0)
    if needed > allowed:
        yield "the arena is larger than that of the plan that was described"


def plan_cases(rng, given):
    step = given["alignment"]

    def case(tensors, alignment=step):
        return {"tensors": tensors, "alignment": alignment}

    yield "chain", case([])
    yield "chain", case([(1, 0, 0)])
    sizes = [int(n) for n in rng.integers(20, 4000, size=8)]
    yield "chain", case([(n, i, i + 1) for i, n in enumerate(sizes)])
    yield "chain", case([(step, i, i + 1) for i in range(6)])
    yield "shared", case([(100, 0, 9), (50, 1, 3), (70, 4, 6), (30, 2, 5)], 16)
    yield "shared", case([(n, 0, 3) for n in sizes])
    yield "shared", case([(n, i, 20 - i) for i, n in enumerate(sizes)])
    yield "shared", case([(3 * step + 1, 0, 4), (2 * step, 4, 5), (step - 1, 5, 5), (step, 2, 4)])
    # Of equal sizes, those that are taken first decide how large the arena becomes.
    lives = ((1, 3), (0, 1), (0, 0), (3, 6))
    yield "shared", case([(step, first, last) for first, last in lives])
    # A small one fits under one that had to be put high up.
    yield "gaps", case([(900, 0, 1), (800, 1, 2), (700, 2, 3), (100, 2, 2), (60, 0, 3)], 32)
    yield (
        "gaps",
        case(
            [(40 * step, 0, 2), (30 * step, 2, 4), (20 * step, 4, 5), (10 * step, 3, 5), (7, 0, 5)]
        ),
    )
    for count in (10, 25):
        yield "gaps", case(_drawn(rng, count, 12, (1, 40 * step), 5))
    for count, steps in ((15, 8), (40, 20), (60, 40)):
        yield "random", case(_drawn(rng, count, steps, (1, 20 * step), 8))


def plan_wrong_one_after_the_other(tensors, alignment=64):
    offsets, end = [], 0
    for size, _, _ in tensors:
        offsets.append(end)
        end = -(-(end + size) // alignment) * alignment
    return offsets


def plan_wrong_not_aligned(tensors, alignment=64):
    offsets = [0] * len(tensors)
    placed = []
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        offset = 0
        for start, end, f, until in sorted(placed):
            if f <= last and until >= first:
                if offset + size <= start:
                    break
                offset = max(offset, end)
        offsets[i] = offset
        placed.append((offset, offset + size, first, last))
    return offsets


def plan_wrong_last_step_free(tensors, alignment=64):
    """A tensor may be overwritten in the step of its last use."""
    offsets = [0] * len(tensors)
    placed = []
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        offset = 0
        for start, end, f, until in sorted(placed):
            if f < last and until > first:
                if offset + size <= start:
                    break
                offset = max(offset, -(-end // alignment) * alignment)
        offsets[i] = offset
        placed.append((offset, offset + size, first, last))
    return offsets


def plan_wrong_no_gaps(tensors, alignment=64):
    """Always goes on top of what is there."""
    offsets = [0] * len(tensors)
    placed = []
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        ends = [end for end, f, until in placed if f <= last and until >= first]
        offsets[i] = -(-max(ends, default=0) // alignment) * alignment
        placed.append((offsets[i] + size, first, last))
    return offsets


def plan_wrong_in_order_of_time(tensors, alignment=64):
    offsets = [0] * len(tensors)
    placed = []
    for i in sorted(range(len(tensors)), key=lambda i: tensors[i][1]):
        size, first, last = tensors[i]
        offset = 0
        for start, end, f, until in sorted(placed):
            if f <= last and until >= first:
                if offset + size <= start:
                    break
                offset = max(offset, -(-end // alignment) * alignment)
        offsets[i] = offset
        placed.append((offset, offset + size, first, last))
    return offsets


def plan_wrong_equal_sizes_backwards(tensors, alignment=64):
    """Takes those of equal size from the last to the first."""
    return plan(tensors[::-1], alignment)[::-1]


def plan_wrong_sorted_result(tensors, alignment=64):
    """Offsets in the order in which the tensors were placed."""
    offsets, placed = [], []
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        offset = 0
        for start, end, f, until in sorted(placed):
            if f <= last and until >= first:
                if offset + size <= start:
                    break
                offset = max(offset, -(-end // alignment) * alignment)
        offsets.append(offset)
        placed.append((offset, offset + size, first, last))
    return offsets


def _chain_peak(sizes, readers):
    """Runs the layers one by one; an output is dropped after the last layer in its readers."""
    alive, most = {}, 0
    for layer, size in enumerate(sizes):
        alive[layer] = size
        most = max(most, sum(alive.values()))
        alive = {made: n for made, n in alive.items() if max(readers[made]) > layer}
    return most


def solve(given):
    sizes = [given[name] for name in "abcde"]
    readers = {layer: {layer + 1} for layer in range(5)}
    plain = _chain_peak(sizes, readers)
    readers[0].add(2)
    return {"inference": plain, "skip": _chain_peak(sizes, readers)}
