"""Threads under one lock, by events; the other road goes millisecond by millisecond."""

import heapq


def ends(threads):
    at, free = [0] * len(threads), 0
    rest = [list(segments) for segments in threads]
    while any(rest):
        for n, segments in enumerate(rest):
            while segments and segments[0][0] != "python":
                at[n] += segments.pop(0)[1]
        requests = [(at[n], n) for n, segments in enumerate(rest) if segments]
        if not requests:
            break
        requested, n = min(requests)
        free = at[n] = max(requested, free) + rest[n].pop(0)[1]
    return at


def ends_right_with_a_heap(threads):
    heap, done = [], [0] * len(threads)

    def go_on(n, now, place):
        segments = threads[n]
        while place < len(segments):
            kind, length = segments[place]
            if kind == "python":
                heapq.heappush(heap, (now, n, place))
                return
            now, place = now + length, place + 1
        done[n] = now

    for n in range(len(threads)):
        go_on(n, 0, 0)
    lock = 0
    while heap:
        now, n, place = heapq.heappop(heap)
        lock = max(lock, now) + threads[n][place][1]
        go_on(n, lock, place + 1)
    return done


def ends_expected(threads):
    # Millisecond by millisecond: end what ends, then ask, then hand out the lock.
    left = [[[kind, length] for kind, length in segments] for segments in threads]
    done = [None if segments else 0 for segments in left]
    asked, holder, now = {}, None, 0
    while None in done:
        for n, segments in enumerate(left):
            if segments and segments[0][1] == 0:
                segments.pop(0)
                holder = None if holder == n else holder
                if not segments:
                    done[n] = now
        for n, segments in enumerate(left):
            if segments and segments[0][0] == "python" and holder != n and n not in asked:
                asked[n] = now
        if holder is None and asked:
            holder = min(asked, key=lambda n: (asked[n], n))
            del asked[holder]
        for n, segments in enumerate(left):
            if segments and (segments[0][0] != "python" or holder == n):
                segments[0][1] -= 1
        now += 1
    return done


def ends_cases(rng, given):
    def case(*threads):
        return {"threads": [[(kind, int(t)) for kind, t in segments] for segments in threads]}

    def some(longest):
        kinds = rng.choice(["python", "native", "wait"], int(rng.integers(1, 6)))
        return [(str(kind), int(rng.integers(1, longest))) for kind in kinds]

    yield "one thread", case([])
    yield "one thread", case([("python", 7), ("wait", 5), ("native", 3), ("python", 2)])
    yield "python only", case([("python", 4)], [("python", 6)], [], [("python", 1)])
    yield "python only", case([("python", 3)] * 3, [("python", 4)] * 2)
    yield "mixed", case([("native", 9)], [("wait", 30)], [("python", 2), ("native", 5)])
    yield (
        "mixed",
        case([("python", 20)], [("wait", 5), ("python", 5)], [("wait", 3), ("python", 5)]),
    )
    yield "mixed", case([("python", 5), ("wait", 1), ("python", 5)], [("python", 9), ("native", 4)])
    for _ in range(4):
        yield "mixed", case(*(some(20) for _ in range(int(rng.integers(2, 6)))))
    yield "ties", case([("wait", 5), ("python", 5)], [("python", 5), ("python", 5)])
    yield "ties", case([("python", 5), ("python", 5)], [("wait", 5), ("python", 5)])
    for _ in range(3):
        yield "ties", case(*(some(4) for _ in range(5)))


def ends_wrong_in_parallel(threads):
    return [sum(length for _, length in segments) for segments in threads]


def ends_wrong_one_after_the_other(threads):
    now, found = 0, []
    for segments in threads:
        now += sum(length for _, length in segments)
        found.append(now)
    return found


def ends_wrong_native_holds_the_lock(threads):
    return ends([[("wait" if k == "wait" else "python", t) for k, t in p] for p in threads])


def ends_wrong_by_number(threads):
    # The lowest number goes first, however late it has asked.
    at, free = [0] * len(threads), 0
    rest = [list(segments) for segments in threads]
    while any(rest):
        for n, segments in enumerate(rest):
            while segments and segments[0][0] != "python":
                at[n] += segments.pop(0)[1]
        requests = [n for n, segments in enumerate(rest) if segments]
        if not requests:
            break
        n = min(requests, key=lambda n: (max(at[n], free), n))
        free = at[n] = max(at[n], free) + rest[n].pop(0)[1]
    return at


def ends_wrong_keeps_the_lock_for_the_next(threads):
    # Segments of Python that follow each other are taken as one.
    joined = []
    for segments in threads:
        one = []
        for kind, length in segments:
            if one and kind == "python" == one[-1][0]:
                one[-1] = (kind, one[-1][1] + length)
            else:
                one.append((kind, length))
        joined.append(one)
    return ends(joined)


def ends_wrong_last_time_alone(threads):
    found = ends(threads)
    return [max(found, default=0)] * len(found)


def solve(given):
    """Run many rounds of each kind and look at the last ones."""

    def steady(count, python, wait):
        rounds = 60
        one = [("python", python), ("wait", wait)]
        found = [ends([one * r] * count) for r in (rounds, rounds - 1)]
        return found[0][0] - found[1][0]

    def lock_always_busy(count):
        return steady(count, given["heavy"], given["brief"]) == count * given["heavy"]

    full = 1
    while not lock_always_busy(full):
        full += 1
    return {
        "steady_first": steady(given["waiters"], given["short"], given["long_wait"]),
        "steady_second": steady(given["busy"], given["heavy"], given["brief"]),
        "saturating": full,
    }
