"""Simulates streams and engines operation by operation, and tries every number of chunks."""


def solve(given):
    times = {n: makespan(chunk_program(given, n))[-1] for n in range(1, 61)}
    a, b, c, d, e, f = (given[name] for name in "abcdef")
    program = [
        ("s1", "in", a, []),
        ("s1", "kernel", b, []),
        ("s2", "in", c, [0 if given["record"] == "early" else 1]),
        ("s2", "kernel", d, []),
        ("s1", "out", e, []),
        (given["last_stream"], "kernel", f, []),
    ]
    ends = makespan(program)
    return {
        "chunked": times[given["chunks"]],
        "best_chunks": min(times, key=times.get),
        "trace": [[ends[1]], [ends[3]], [ends[5]]],
        "timers": [gloo(given), nccl(given)],
        "handle": ["true1", "true2"],
    }


def chunk_program(given, n):
    return [
        (chunk, engine, given[name] / n + given["fixed"], [])
        for chunk in range(n)
        for engine, name in (("in", "load"), ("kernel", "compute"), ("out", "store"))
    ]


def makespan(program):
    """The end of each operation: a stream, an engine, a time, and operations it waits for."""
    streams, engines, ends = {}, {}, []
    for stream, engine, time, waits in program:
        before = [engines.get(engine, 0), *(ends[other] for other in waits)]
        if stream == "default":
            before += streams.values()  # the legacy default stream waits for all others
        start = max([streams.get(stream, 0), streams.get("default", 0), *before])
        streams[stream] = engines[engine] = start + time
        ends.append(start + time)
    return ends


def gloo(given):
    """A thread that computes, and a second one for the collective."""
    helper = given["reduce"]
    thread = max(given["forward"], helper)
    return [thread, thread + given["after"]]


def nccl(given):
    """A host that only issues work, and the ends of what it issues to two streams."""
    host, current, internal = 0.0, 0.0, 0.0
    host += given["call"]
    internal += given["reduce"]
    host += given["call"]
    current += given["forward"]
    current = max(current, internal)  # wait() orders the streams
    return [host, current + given["after"]]
