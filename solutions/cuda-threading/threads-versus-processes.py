"""Plays the pools through event by event, with a limit on how many workers advance at once."""


def makespan(tasks, seconds, workers, capacity):
    """Return when a pool has finished; at most *capacity* workers' worth of progress at a time."""
    left, clock, running = tasks, 0.0, []
    while left or running:
        while left and len(running) < workers:
            running.append(seconds)
            left -= 1
        rate = min(1.0, capacity / len(running))
        nearest = min(running)
        clock += nearest / rate
        running = [rest - nearest for rest in running if rest - nearest > 1e-9]
    return clock


def waits(workers, load, step):
    """Return whether training still waits for batches after a long time."""
    batches, end, ends = 40 * workers, 0.0, []
    for batch in range(batches):
        ready = (batch // workers + 1) * load
        end = max(ready, end) + step
        ends.append(end)
    steady = ends[20 * workers :]
    return steady[-1] - steady[0] > (len(steady) - 1) * step + 1e-6


def throughput(threads, bytecode, released):
    """Return jobs per unit of time after many jobs; bytecode needs the lock, the rest does not."""
    free = [0] * threads  # when each thread can start its next job
    lock, ends = 0, []
    for _ in range(60 * threads):
        thread = min(range(threads), key=free.__getitem__)
        lock = max(lock, free[thread]) + bytecode
        free[thread] = lock + released
        ends.append(free[thread])
    window = ends[20 * threads :: threads]
    return (len(window) - 1) * threads / (window[-1] - window[0])


METHODS = {
    "fork": {"inherits_memory", "broken_cuda"},
    "spawn": {"fresh_interpreter"},
    "forkserver": {"asks_server", "default_now"},
    "none": {"shared_lock"},
}

WHY = (
    "A thread that waits for the network releases the interpreter lock, so other threads can send "
    "their requests meanwhile. A thread that runs Python bytecode holds the lock, so only one job "
    "runs at a time, whatever the number of threads. With a free-threaded build of CPython, the "
    "threads would run on several cores."
)


def solve(given):
    """Return each part's answer, found by simulation."""
    workers = 1
    while waits(workers, given["load_time"], given["step_time"]):
        workers += 1
    endless = float("inf")
    python = 100 - given["released"]
    return {
        "fetch_time": makespan(given["requests"], given["wait"], given["pool"], endless),
        "threads_time": makespan(given["jobs"], given["work"], given["pool"], 1),
        "processes_time": makespan(
            given["jobs"], given["work"], given["process_count"], given["cores"]
        ),
        "released_share": throughput(given["cores"], python, given["released"])
        / throughput(1, python, given["released"]),
        "loader_workers": workers,
        "start_methods": {item: name for name, items in METHODS.items() for item in items},
        "why_threads": WHY,
    }
