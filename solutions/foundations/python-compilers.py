"""Starts processes in which calls follow each other on a clock, and builds wheels one by one."""


def process(given, calls, first, each):
    """The microseconds of a process whose first call with new argument types takes longer."""
    clock, seen = 0, set()
    for call in range(calls):
        kind = call % given["types"]
        if kind not in seen:
            seen.add(kind)
            clock += first
        clock += each
    return clock


def solve(given):
    python = round(given["python"] * 1000)
    compiling = round(given["compiling"] * 1e6)
    loading = given["loading"] * 1000
    numba, cython = given["numba"], given["cython"]

    # All types are used from the start, and then both processes go on call by call.
    calls = given["types"]
    clocks = [process(given, calls, compiling, numba), process(given, calls, 0, python)]
    while clocks[0] >= clocks[1]:
        calls += 1
        clocks[0] += numba
        clocks[1] += python

    times = [
        process(given, given["calls"], first, each) / 1e6
        for first, each in [(0, python), (compiling, numba), (loading, numba), (0, cython)]
    ]
    wheels = set()
    for platform in range(given["platforms"]):
        for version in range(given["versions"]):
            wheels.add((platform, "abi3" if given["stable"] == "yes" else version))
            if version < given["free"]:
                wheels.add((platform, f"{version}t"))
    return {
        "break_even": calls,
        "process_times": [[time] for time in times],
        "cache_gain": times[1] / times[2],
        "wheel_count": len(wheels),
        "tools": {
            "whole-program": "pypy",
            "one-loop": "numba",
            "wrapper": "cython",
            "library": "none",
        },
        "installed": {"interpreter", "numpy"},
    }
