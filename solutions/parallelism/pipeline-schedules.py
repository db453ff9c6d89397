"""Schedules and their time; the second methods replay slots and relax start times."""

import graphlib
import random


def schedule(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    actions = [("F", i) for i in range(warm)]
    for k in range(micro_batches - warm):
        actions += [("F", warm + k), ("B", k)]
    return actions + [("B", i) for i in range(micro_batches - warm, micro_batches)]


def schedule_cases(rng, given):
    def case(kind, stage, stages, micro_batches):
        asked = {"kind": kind, "stage": stage, "stages": stages}
        return {**asked, "micro_batches": micro_batches}

    p = int(rng.integers(3, 7))
    m = p + int(rng.integers(1, 6))
    yield "gpipe", case("gpipe", 0, 1, 3)
    yield "gpipe", case("gpipe", p - 2, p, m)
    yield "1f1b", case("1f1b", 0, 1, 4)
    yield "1f1b", case("1f1b", 0, p, m)
    yield "1f1b", case("1f1b", 1, p, m)
    yield "1f1b", case("1f1b", p - 1, p, m)
    yield "few micro-batches", case("1f1b", 0, 6, 2)
    yield "few micro-batches", case("1f1b", 1, 4, 1)
    yield "few micro-batches", case("gpipe", 2, 4, 1)


def schedule_right_by_counting(kind, stage, stages, micro_batches):
    most = micro_batches if kind == "gpipe" else stages - stage
    forwards = backwards = 0
    out = []
    while backwards < micro_batches:
        if forwards < micro_batches and forwards - backwards < most:
            out.append(["F", forwards])
            forwards += 1
        else:
            out.append(["B", backwards])
            backwards += 1
    return out


def schedule_wrong_backwards_reversed(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage - 1, micro_batches)
    actions = [("F", i) for i in range(warm)]
    for k in range(micro_batches - warm):
        actions += [("F", warm + k), ("B", k)]
    return actions + [("B", i) for i in reversed(range(micro_batches - warm, micro_batches))]


def schedule_wrong_one_more_warm_up(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - stage, micro_batches)
    actions = [("F", i) for i in range(warm)]
    for k in range(micro_batches - warm):
        actions += [("B", k), ("F", warm + k)]
    return [*actions[:-1], ("B", 0)]


def schedule_wrong_same_on_all_stages(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else min(stages - 1, micro_batches)
    actions = [("F", i) for i in range(warm)]
    for k in range(micro_batches - warm):
        actions += [("F", warm + k), ("B", k)]
    return actions + [("B", i) for i in range(micro_batches - warm, micro_batches)]


def schedule_wrong_always_full_warm_up(kind, stage, stages, micro_batches):
    warm = micro_batches if kind == "gpipe" else stages - stage - 1
    actions = [("F", i) for i in range(warm)]
    for k in range(micro_batches - warm):
        actions += [("F", warm + k), ("B", k)]
    return actions + [("B", i) for i in range(max(0, micro_batches - warm), micro_batches)]


def schedule_wrong_no_warm_up(kind, stage, stages, micro_batches):
    if kind == "gpipe":
        return [(what, i) for what in "FB" for i in range(micro_batches)]
    return [(what, i) for i in range(micro_batches) for what in "FB"]


def makespan(schedules, forward, backward):
    ended, clock = {}, [0.0] * len(schedules)
    place, left = [0] * len(schedules), sum(map(len, schedules))
    last = len(schedules) - 1
    while left:
        before = left
        for stage, actions in enumerate(schedules):
            while place[stage] < len(actions):
                what, i = actions[place[stage]]
                if what == "F":
                    needs = [("F", i, stage - 1)] if stage > 0 else []
                else:
                    needs = [("F", i, stage)] + ([("B", i, stage + 1)] if stage < last else [])
                if any(need not in ended for need in needs):
                    break
                begin = max([clock[stage], *(ended[need] for need in needs)])
                clock[stage] = begin + (forward if what == "F" else backward)
                ended[what, i, stage] = clock[stage]
                place[stage] += 1
                left -= 1
        if left == before:
            raise ValueError("an action can never start")
    return max(clock)


def makespan_expected(schedules, forward, backward):
    """The longest path, by relaxing all edges as often as there are actions."""
    nodes = [(s, a, i) for s, actions in enumerate(schedules) for a, i in actions]
    time = {"F": forward, "B": backward}
    edges = []
    for s, actions in enumerate(schedules):
        row = [(s, a, i) for a, i in actions]
        edges += list(zip(row, row[1:], strict=False))
        for a, i in actions:
            if a == "B":
                edges.append(((s, "F", i), (s, a, i)))
                if s + 1 < len(schedules):
                    edges.append(((s + 1, "B", i), (s, a, i)))
            elif s > 0:
                edges.append(((s - 1, "F", i), (s, a, i)))
    end = {node: time[node[1]] for node in nodes}
    for _ in range(len(nodes) + 1):
        moved = False
        for one, other in edges:
            if one not in end:
                raise ValueError("an action that nobody does")
            later = end[one] + time[other[1]]
            if later > end[other] + 1e-12:
                end[other], moved = later, True
        if not moved:
            return float(max(end.values()))
    raise ValueError("a circle")


def makespan_cases(rng, given):
    def times():
        return {"forward": float(rng.integers(1, 5)), "backward": float(rng.integers(2, 9)) + 0.5}

    def rows(kind, p, m):
        return [schedule(kind, s, p, m) for s in range(p)]

    p = int(rng.integers(3, 6))
    yield "flushed", {"schedules": rows("gpipe", 1, 3), **times()}
    yield "flushed", {"schedules": rows("gpipe", p, 6), **times()}
    yield "flushed", {"schedules": rows("1f1b", p, p + 3), **times()}
    mixed = [schedule("gpipe" if s % 2 else "1f1b", s, p, 5) for s in range(p)]
    yield "other orders", {"schedules": mixed, **times()}
    one_by_one = [[(what, i) for i in range(4) for what in "FB"]] * p
    yield "other orders", {"schedules": one_by_one, **times()}
    turned = [[("F", i) for i in range(4)] + [("B", i) for i in (3, 2, 1, 0)]] * p
    yield "other orders", {"schedules": turned, **times()}
    order = random.Random(int(rng.integers(1000))).sample(range(5), 5)
    shuffled = [[(what, i) for what in "FB" for i in order]] * 3
    yield "other orders", {"schedules": shuffled, **times()}
    forwards_only = [[("F", i) for i in range(3)]] * p
    yield "other orders", {"schedules": forwards_only, **times()}
    yield "impossible", {"schedules": [[("B", 0), ("F", 0)]], **times()}
    crossed = [[("F", 0), ("B", 0), ("F", 1), ("B", 1)], [("F", 0), ("F", 1), ("B", 1), ("B", 0)]]
    yield "impossible", {"schedules": crossed, **times()}
    yield "impossible", {"schedules": [[("F", 0)], [("F", 0), ("F", 1)]], **times()}
    # Not everything is refused.
    yield "impossible", {"schedules": rows("1f1b", 3, 5), **times()}


def makespan_right_by_events(schedules, forward, backward):
    last, done, queue = len(schedules) - 1, {}, [list(one) for one in schedules]
    free = [0.0 for _ in schedules]

    def ready(stage, what, i):
        if what == "F":
            return 0.0 if stage == 0 else done.get((stage - 1, "F", i))
        own = done.get((stage, "F", i))
        after = 0.0 if stage == last else done.get((stage + 1, "B", i))
        return None if own is None or after is None else max(own, after)

    while any(queue):
        could = [(s, ready(s, *queue[s][0])) for s in range(last + 1) if queue[s]]
        could = [(max(t, free[s]), s) for s, t in could if t is not None]
        if not could:
            raise ValueError
        start, s = min(could)
        what, i = queue[s].pop(0)
        free[s] = done[s, what, i] = start + {"F": forward, "B": backward}[what]
    return max(free)


def makespan_right_by_a_sorted_graph(schedules, forward, backward):
    graph = {}
    for s, actions in enumerate(schedules):
        for place, (what, i) in enumerate(actions):
            needs = graph.setdefault((s, what, i), set())
            if place:
                needs.add((s, *actions[place - 1]))
            if what == "B":
                needs.add((s, "F", i))
                if s + 1 < len(schedules):
                    needs.add((s + 1, "B", i))
            elif s:
                needs.add((s - 1, "F", i))
    ends = {}
    for one in graphlib.TopologicalSorter(graph).static_order():  # its CycleError is a ValueError
        if one not in graph:
            raise ValueError("an action that nobody does")
        begin = max((ends[need] for need in graph[one]), default=0.0)
        ends[one] = begin + (forward if one[1] == "F" else backward)
    return max(ends.values())


def makespan_wrong_end_of_the_first_stage(schedules, forward, backward):
    ended, clock = {}, [0.0] * len(schedules)
    queues = [list(actions) for actions in schedules]
    while any(queues):
        for s, queue in enumerate(queues):
            what, i = queue[0] if queue else ("", 0)
            needs = [("F", i, s - 1)] if what == "F" and s else []
            if what == "B":
                needs = [("F", i, s)] + [("B", i, s + 1)] * (s + 1 < len(queues))
            if what and all(need in ended for need in needs):
                begin = max([clock[s], *(ended[need] for need in needs)])
                clock[s] = ended[(*queue.pop(0), s)] = begin + {"F": forward, "B": backward}[what]
                break
        else:
            raise ValueError
    return clock[0]


def makespan_wrong_formula(schedules, forward, backward):
    p, m = len(schedules), len(schedules[0]) // 2
    return (p - 1 + m) * (forward + backward)


def makespan_wrong_never_waits(schedules, forward, backward):
    return max(sum({"F": forward, "B": backward}[what] for what, _ in one) for one in schedules)


def makespan_wrong_adds_everything(schedules, forward, backward):
    return sum({"F": forward, "B": backward}[what] for one in schedules for what, _ in one)


def makespan_wrong_backward_needs_forward_only(schedules, forward, backward):
    ended, clock = {}, [0.0] * len(schedules)
    for stage, actions in enumerate(schedules):
        for what, i in actions:
            need = (what, i, stage - 1) if what == "F" else ("F", i, stage)
            if what == "B" and need not in ended:
                raise ValueError
            begin = max(clock[stage], ended.get(need, 0.0))
            clock[stage] = begin + (forward if what == "F" else backward)
            ended[what, i, stage] = clock[stage]
    return max(clock)


def solve(given):
    stages, count = given["stages"], given["rounds"] * given["stages"]

    def peak(kind):
        alive = most = 0
        for what, _ in schedule(kind, given["stage"], stages, count):
            alive += 1 if what == "F" else -1
            most = max(most, alive)
        return most * given["stash"]

    def in_groups(stage):
        one = schedule("gpipe", stage, stages, stages)
        return [(what, stages * n + i) for n in range(given["rounds"]) for what, i in one]

    flushed = makespan([in_groups(stage) for stage in range(stages)], 1.0, 2.0)
    steady = makespan([schedule("1f1b", stage, stages, count) for stage in range(stages)], 1.0, 2.0)
    return {"less": (peak("gpipe") - peak("1f1b")) / 1000, "flushes": flushed / steady}
