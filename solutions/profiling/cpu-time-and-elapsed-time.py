"""Plays the programs in steps of 10 ms and reads the clocks, instead of dividing totals."""


class Clocks:
    """An elapsed clock, and a CPU clock of one process, for activities given thread by thread."""

    def __init__(self):
        self.elapsed = self.cpu = 0

    def run(self, threads, lock=False):
        """Every thread is a list of "run" and "wait" ticks; with a lock, one thread runs at a time."""
        threads = [list(reversed(thread)) for thread in threads]
        while any(threads):
            free = True
            for thread in threads:
                if not thread:
                    continue
                if thread[-1] == "wait":
                    thread.pop()
                elif not lock or free:
                    free = False
                    self.cpu += 1
                    thread.pop()
            self.elapsed += 1


def blocks(count, ticks):
    """What the five blocks do to the two clocks, in units of one task."""
    run, wait = ["run"] * ticks, ["wait"] * ticks
    played = {
        "sleep": ([wait] * count, False),
        "loop": ([run] * count, True),
        "product": ([run] * count, False),
        "children": ([wait], False),  # what the parent does while its children compute
        "mixed": ([run + wait], False),
    }
    found = {}
    for name, (threads, lock) in played.items():
        clocks = Clocks()
        clocks.run(threads, lock)
        found[name] = (clocks.elapsed // ticks, clocks.cpu // ticks)
    return found


def solve(given):
    busy = {}
    for name, letter in [("fetch", "a"), ("tokenize", "b"), ("pack", "c")]:
        real, user, kernel = programs(given)[letter]
        ticks = sum(1 for _ in range(round(10 * user))) + sum(1 for _ in range(round(10 * kernel)))
        busy[name] = (ticks / 10, ticks / 10 / real)

    # The thread of fetch, tenth of a second by tenth of a second.
    real, user, kernel = programs(given)["a"]
    running, total = round(10 * (user + kernel)), round(10 * real)
    states = ["run" if i < running else "wait" for i in range(total)]

    def finish(run, wait):
        return sum(run if state == "run" else wait for state in states)

    changes = {
        "storage": finish(1, 1 / 4),
        "cores": finish(1 / 2, 1),
        "more-cores": finish(1, 1),
        "priority": finish(1, 1),
    }

    now = given["threads_b"] * given["busy_now"] * given["interval"]
    seconds = (round(100 * now * 0.92) + round(100 * now * 0.08)) * 0.01
    cores = [seconds / given["interval"] if i == 0 else 0 for i in range(given["cores"])]

    n = given["tasks"]
    targets = {
        (1, 0): "waits",
        (n, n): "turns",
        (1, n): "parallel",
        (2, 1): "half",
        (n, 0): "queue",
        (1, 1): "one",
    }
    return {
        "cpu": [list(busy[name]) for name in ("fetch", "tokenize", "pack")],
        "waiting": states.count("wait") / 10,
        "change": min(changes, key=changes.get),
        "shown": 100 * sum(cores),
        "summary": 100 * sum(cores) / len(cores),
        "clocks": {name: targets[clocks] for name, clocks in blocks(n, 5).items()},
        "questions": {"hungry", "resident", "idle-io"},
    }


def programs(given):
    """The columns real, user, and sys of the printed table."""
    a, b, c = given["real_a"], given["real_b"], given["real_c"]
    used_b = b * given["threads_b"] * given["busy_b"]
    used_c = c * given["busy_c"]
    return {
        "a": (a, round(a * given["user_share"], 1), round(a * given["sys_share"], 1)),
        "b": (b, round(used_b * 0.93, 1), round(used_b * 0.07, 1)),
        "c": (c, round(used_c * 0.72, 1), round(used_c * 0.28, 1)),
    }
