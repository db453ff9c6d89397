"""Runs every configuration step by step on two clocks, one of the network and one of the arithmetic."""

import itertools
import math


def solve(given):
    found = {}
    for copies, panel in itertools.product((1, 4, 16, 64), (64, 128, 256, 512, 1024, 2048)):
        side = given["n"] // math.isqrt(given["nodes"] // copies)
        held = 8 * (3 * side * side + 2 * 2 * side * panel)
        if panel > min(side, given["n"] // copies) or held > given["memory"] * 1e9:
            continue
        found[copies, panel] = run(given, copies, panel)
    copies, panel = min(found, key=found.get)
    return {
        "algorithm": {"copies": copies, "panel": panel, "cost": 1e3 * found[copies, panel]},
        "received": received(given["n"], given["nodes"], copies, panel) / 1e6,
        "halves": halves(),
    }


def run(given, copies, panel):
    grid = math.isqrt(given["nodes"] // copies)
    side = given["n"] // grid

    def message(elements, receivers):
        """The time of a broadcast: the nodes that have the message double in each round."""
        time, have = 0.0, 1
        while have < receivers:
            time += given["latency"] / 1e6 + 8 * elements / (given["bandwidth"] * 1e9)
            have *= 2
        return time

    panels = message(side * panel, grid) + message(side * panel, grid)
    speed = given["rate"] * 1e12 * panel / (panel + 64)
    multiply = 2 * side * panel * side / speed
    now = message(side * side, copies) + message(side * side, copies)
    arrived = now + panels
    for _ in range(given["n"] // copies // panel):
        start = max(arrived, now)
        # The next panels are sent as soon as this step starts.
        arrived = start + panels
        now = start + multiply
    return now + message(side * side, copies)


def received(n, nodes, copies, panel):
    side = n / math.sqrt(nodes / copies)
    return sum(8 * side * panel for _ in range(round(n / copies / panel)) for _ in "AB")


def halves():
    """Compares the received bytes with those of 64 nodes and one copy of 1024 rows."""
    now = received(1024, 64, 1, 16)
    changes = {
        "four_copies": received(1024, 64, 4, 16),
        "four_nodes": received(1024, 256, 1, 16),
        "two_copies": received(1024, 128, 2, 16),
        "two_nodes": received(1024, 128, 1, 16),
        "panels": received(1024, 64, 1, 32),
        "smaller": received(512, 64, 1, 16),
    }
    return [name for name, size in changes.items() if math.isclose(size, now / 2)]
