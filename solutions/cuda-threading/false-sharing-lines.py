"""Coherence by sets of holders; the other road keeps a state for each core and line."""


def coherence(trace, line):
    valid, fetches, invalidations = {}, 0, 0
    for core, kind, address in trace:
        holders = valid.setdefault(address // line, set())
        if core not in holders:
            fetches += 1
            holders.add(core)
        if kind == "w":
            invalidations += len(holders) - 1
            holders.intersection_update({core})
    return fetches, invalidations


def coherence_right_by_states(trace, line):
    # Modified, shared or invalid, for each core and line.
    state, cores = {}, {core for core, _, _ in trace}
    fetched = lost = 0
    for core, kind, address in trace:
        number = address - address % line
        if state.get((core, number), "I") == "I":
            fetched += 1
            state[core, number] = "S"
            for other in cores:
                if state.get((other, number)) == "M":
                    state[other, number] = "S"
        if kind == "w" and state[core, number] != "M":
            for other in cores - {core}:
                if state.get((other, number), "I") != "I":
                    state[other, number] = "I"
                    lost += 1
            state[core, number] = "M"
    return [fetched, lost]


def coherence_right_by_history(trace, line):
    # A core has a copy when nobody else has written since its last access.
    fetches = invalidations = 0
    for k, (core, kind, address) in enumerate(trace):
        before = [(c, w) for c, w, a in trace[:k] if a // line == address // line]

        def holds(who, before=before):
            mine = [n for n, (c, _) in enumerate(before) if c == who]
            return bool(mine) and not any(w == "w" and c != who for c, w in before[mine[-1] :])

        fetches += not holds(core)
        if kind == "w":
            invalidations += sum(holds(c) for c in {c for c, _ in before} - {core})
    return fetches, invalidations


def some(rng, cores, places, n):
    return [
        (int(rng.integers(cores)), "rw"[int(rng.integers(2))], 8 * int(rng.integers(places)))
        for _ in range(n)
    ]


def in_turns(cores, size, rounds):
    return [(c, k, c * size) for _ in range(rounds) for c in range(cores) for k in "rw"]


def coherence_cases(rng, given):
    def case(trace, line=given["line"]):
        return {"trace": trace, "line": line}

    yield "reading", case([])
    yield "reading", case([(c, "r", 8) for c in (0, 1, 2, 0, 1, 2)])
    yield "reading", case([(0, "r", a) for a in (0, 8, 56, 64, 120, 128)], 64)
    yield "reading", case([(0, "w", 0), (1, "r", 0), (0, "r", 0), (1, "r", 8)])
    yield "writing", case([(0, "w", 0), (0, "w", 8), (0, "r", 16)])
    yield "writing", case([(c, "w", 0) for c in (0, 1, 0, 1)])
    yield "writing", case([(0, "r", 0), (1, "r", 0), (2, "r", 0), (1, "w", 0), (0, "r", 0)])
    yield "writing", case([(0, "r", 0), (1, "w", 0), (0, "w", 0), (0, "w", 0), (1, "r", 0)])
    yield "writing", case(in_turns(4, 8, 3))
    yield "writing", case(in_turns(4, 64, 3), 32)
    for _ in range(5):
        yield "random", case(some(rng, 4, 24, 60), int(rng.choice([32, 64, 128])))


def coherence_wrong_each_access(trace, line):
    last, fetches, invalidations = {}, 0, 0
    for core, kind, address in trace:
        number = address // line
        if last.get(number) != core:
            fetches += 1
            if kind == "w" and number in last:
                invalidations += 1
        last[number] = core
    return fetches, invalidations


def coherence_wrong_variables(trace, line):
    return coherence([(core, kind, address * line) for core, kind, address in trace], line)


def coherence_wrong_writer_too(trace, line):
    valid, fetches, invalidations = {}, 0, 0
    for core, kind, address in trace:
        holders = valid.setdefault(address // line, set())
        if core not in holders:
            fetches += 1
            holders.add(core)
        if kind == "w":
            invalidations += len(holders)
            holders.intersection_update({core})
    return fetches, invalidations


def coherence_wrong_reading_invalidates(trace, line):
    return coherence([(core, "w", address) for core, _, address in trace], line)


def coherence_wrong_write_needs_no_fetch(trace, line):
    valid, fetches, invalidations = {}, 0, 0
    for core, kind, address in trace:
        holders = valid.setdefault(address // line, set())
        if kind == "r" and core not in holders:
            fetches += 1
        holders.add(core)
        if kind == "w":
            invalidations += len(holders) - 1
            holders.intersection_update({core})
    return fetches, invalidations


def needless(trace, line):
    return coherence(trace, line)[0] - coherence(trace, 1)[0]


def needless_right_renamed(trace, line):
    places = {address: n for n, address in enumerate(sorted({a for _, _, a in trace}))}
    apart = [(core, kind, places[address] * line) for core, kind, address in trace]
    return coherence_right_by_states(trace, line)[0] - coherence_right_by_states(apart, line)[0]


def needless_cases(rng, given):
    def case(trace, line=given["line"]):
        return {"trace": trace, "line": line}

    yield "counters", case([])
    yield "counters", case(in_turns(3, 8, 4))
    yield "counters", case(in_turns(5, 24, 3))
    yield "counters", case(in_turns(4, 256, 3))
    yield "counters", case(in_turns(6, 4, 3))
    yield "true sharing", case([(c, "w", 8) for c in (0, 1, 0, 1, 2)])
    yield "true sharing", case([(c, k, 40) for c in (0, 1, 2, 0, 1) for k in "rw"])
    # Beside a word that is, counters that are not.
    yield "true sharing", case([*in_turns(3, 4, 3), *((c, "w", 256) for c in (0, 1, 0))])
    yield "neighbors", case([(0, "r", a) for a in range(0, 64, 8)])
    yield "neighbors", case([(c, "r", a) for c in (0, 1) for a in range(0, 256, 16)])
    for _ in range(4):
        yield "random", case(some(rng, 3, 20, 50), int(rng.choice([32, 64, 128])))


def needless_wrong_all(trace, line):
    return coherence(trace, line)[0]


def needless_wrong_never_negative(trace, line):
    return max(0, coherence(trace, line)[0] - coherence(trace, 1)[0])


def needless_wrong_invalidations(trace, line):
    return coherence(trace, line)[1] - coherence(trace, 1)[1]


def needless_wrong_eight_bytes_each(trace, line):
    return coherence(trace, line)[0] - coherence(trace, 8)[0]


def needless_wrong_beyond_the_first(trace, line):
    lines = {(core, address // line) for core, _, address in trace}
    return coherence(trace, line)[0] - len(lines)


def solve(given):
    """Run the threads in turns through the protocol, until a round repeats the one before."""
    line, size, cores = given["line"], given["size"], given["cores"]
    places = [core // (line // size) * line + core % (line // size) * size for core in range(cores)]
    turns = [(c, k, places[c]) for c in range(cores) for k in "rw"]
    # After the first round, each one starts from the same states, so it costs the same.
    first, second = (coherence_right_by_states(turns * n, line) for n in (1, 2))
    fetches, invalidations = (
        a + (given["rounds"] - 1) * (b - a) for a, b in zip(first, second, strict=True)
    )
    return {"packed_fetches": fetches, "packed_invalidations": invalidations}
