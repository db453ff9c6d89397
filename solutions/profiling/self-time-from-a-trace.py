"""One pass with a stack; the second road marks every microsecond with the innermost event."""


def solve(given):
    g = given
    model_start = g["load"] + g["gap"]
    first = model_start + 5
    second = first + g["linear"] + g["gelu"] + 11
    model = second + g["linear"] + 6 - model_start
    backward = model_start + model + g["gap"]
    events = [
        ("step", 0, backward + g["backward"] + 8),
        ("load", 0, g["load"]),
        ("model", model_start, model),
        ("linear", first, g["linear"]),
        ("matmul", first + 10, g["matmul"]),
        ("gelu", first + g["linear"] + 3, g["gelu"]),
        ("linear", second, g["linear"]),
        ("matmul", second + 10, g["matmul"]),
        ("backward", backward, g["backward"]),
        ("matmul", backward + 12, g["products"]),
        ("matmul", backward + 20 + g["products"], g["products"]),
    ]
    found = painted(events)
    return {"of_step": found["step"], "of_matmul": found["matmul"], "hot": "contained"}


def painted(events):
    """Give each microsecond to the innermost event: the shortest, and of equal ones the last."""
    moments = {}
    order = sorted(range(len(events)), key=lambda i: (-events[i][2], i))
    for i in order:
        _, start, duration = events[i]
        for moment in range(start, start + duration):
            moments[moment] = i
    found = {name: 0 for name, _, _ in events}
    for i in moments.values():
        found[events[i][0]] += 1
    return found


def self_times(events):
    order = sorted(range(len(events)), key=lambda i: (events[i][1], -events[i][2], i))
    found, open_ones = {}, []
    for i in order:
        name, start, duration = events[i]
        while open_ones and open_ones[-1][1] <= start:
            open_ones.pop()
        if open_ones:
            found[open_ones[-1][0]] -= duration
        found[name] = found.get(name, 0) + duration
        open_ones.append((name, start + duration))
    return found


def self_times_right_ends(events):
    """Begin and end of every event as points in time, walked through in order."""
    points = []
    for i, (_, start, duration) in enumerate(events):
        if duration:
            points.append((start, 1, -duration, i))
            points.append((start + duration, 0, duration, -i))
    found = dict.fromkeys((name for name, _, _ in events), 0)
    stack, before = [], 0
    for moment, begins, _, i in sorted(points):
        if stack:
            found[events[stack[-1]][0]] += moment - before
        before = moment
        if begins:
            stack.append(i)
        else:
            stack.pop()
    return found


def self_times_expected(events):
    return painted(events)


def self_times_cases(rng, given):
    names = ["step", "model", "linear", "matmul", "gelu", "copy"]

    def shuffled(events):
        return {"events": [events[i] for i in rng.permutation(len(events))]}

    def nest(start, duration, depth):
        """A random tree of events that fill parts of a span."""
        events = [(names[int(rng.integers(len(names)))], start, duration)]
        at = start
        while depth and duration > 4 and at < start + duration - 2:
            at += int(rng.integers(0, 4))
            inner = int(rng.integers(1, max(2, duration // 2)))
            if at + inner > start + duration:
                break
            if inner < duration:
                events += nest(at, inner, depth - 1)
            at += inner
        return events

    yield "nested", shuffled([("a", 0, 20), ("b", 2, 10), ("c", 3, 4), ("d", 14, 3)])
    yield "nested", shuffled([("a", 5, 5), ("b", 10, 5), ("a", 15, 1)])
    for _ in range(4):
        yield "nested", shuffled(nest(int(rng.integers(0, 9)), int(rng.integers(60, 200)), 4))
    yield "odd", {"events": []}
    yield "odd", {"events": [("a", 3, 0)]}
    yield "odd", shuffled([("a", 0, 9), ("a", 0, 5), ("a", 1, 2), ("b", 0, 5000)])
    yield "odd", {"events": [("inner", 4, 2), ("outer", 1, 8), ("first", 1, 8), ("second", 1, 8)]}
    yield "odd", {"events": [("inner", 4, 2), ("twin", 1, 8), ("same", 1, 8), ("other", 1, 8)]}
    yield "odd", shuffled([("a", 0, 10), ("z", 10, 0), ("z", 0, 0), ("b", 4, 0), ("b", 4, 6)])
    many, at = [("run", 0, 40_000)], 0
    for _ in range(300):
        at += int(rng.integers(1, 20))
        length = int(rng.integers(20, 100))
        many += [("op", at, length), ("kernel", at + 3, length - 6)]
        at += length
    yield "nested", shuffled(many)


def self_times_wrong_equal_ones_by_name(events):
    return self_times(sorted(events))


def self_times_wrong_total(events):
    found = {}
    for name, _, duration in events:
        found[name] = found.get(name, 0) + duration
    return found


def self_times_wrong_all_below(events):
    found = {}
    for i, (name, start, duration) in enumerate(events):
        inside = 0
        for j, (_, begin, length) in enumerate(events):
            within = start <= begin and begin + length <= start + duration
            if within and (length, -j) < (duration, -i) and i != j:
                inside += length
        found[name] = found.get(name, 0) + duration - inside
    return found


def self_times_wrong_not_sorted(events):
    found, open_ones = {}, []
    for name, start, duration in events:
        while open_ones and open_ones[-1][1] <= start:
            open_ones.pop()
        if open_ones:
            found[open_ones[-1][0]] -= duration
        found[name] = found.get(name, 0) + duration
        open_ones.append((name, start + duration))
    return found


def self_times_wrong_by_start_alone(events):
    found, open_ones = {}, []
    for name, start, duration in sorted(events, key=lambda event: event[1:]):
        while open_ones and open_ones[-1][1] <= start:
            open_ones.pop()
        if open_ones:
            found[open_ones[-1][0]] -= duration
        found[name] = found.get(name, 0) + duration
        open_ones.append((name, start + duration))
    return found


def self_times_wrong_recursion(events):
    order = sorted(events, key=lambda event: (event[1], -event[2]))
    found, open_ones = {}, []
    for name, start, duration in order:
        while open_ones and open_ones[-1][1] <= start:
            open_ones.pop()
        if open_ones and open_ones[-1][0] != name:
            found[open_ones[-1][0]] -= duration
        found[name] = found.get(name, 0) + duration
        open_ones.append((name, start + duration))
    return found


def self_times_wrong_touching(events):
    order = sorted(range(len(events)), key=lambda i: (events[i][1], -events[i][2], i))
    found, open_ones = {}, []
    for i in order:
        name, start, duration = events[i]
        while open_ones and open_ones[-1][1] < start:
            open_ones.pop()
        if open_ones:
            found[open_ones[-1][0]] -= duration
        found[name] = found.get(name, 0) + duration
        open_ones.append((name, start + duration))
    return found


def self_times_wrong_last_call(events):
    found = self_times_right_ends(events)
    last = {}
    for name, _, duration in events:
        last[name] = duration
    return {name: min(value, last[name]) for name, value in found.items()}
