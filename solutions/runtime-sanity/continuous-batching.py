"""Plays both servers token by token, with a clock, and notes when every token appears."""

from collections import deque


def solve(given):
    lengths = {number: given[f"l{number}"] for number in range(1, 10)}
    static, steps, idle = play(lengths, given, refill=False)
    flow = play(lengths, given, refill=True)[0]
    late = given["late"]

    # Tokens are dealt out one by one to three slots, as evenly as possible.
    slots = [0, 0, 0]
    for _ in range(sum(lengths.values()) - len(lengths)):
        slots[slots.index(min(slots))] += 1
    return {
        "times": [
            [t[late][0], t[2][-1], max(tokens[-1] for tokens in t.values())] for t in (static, flow)
        ],
        "idle": 100 * idle / (3 * steps),
        "fewest": max(*slots, *(length - 1 for length in lengths.values())),
        "remedy": "slots" if given["goal"] == "wait" else "schedule",
    }


def play(lengths, given, refill):
    """The times of the tokens of each request, the number of decode steps, and the idle slots."""
    queue, running = deque(lengths), []
    tokens = {number: [] for number in lengths}
    clock, steps, idle = 0.0, 0, 0
    filling = True
    while queue or running:
        filling = filling or refill or not running
        if queue and filling and len(running) < 3:
            number = queue.popleft()
            clock += given["prefill"] / 1e3
            tokens[number].append(clock)
            running.append(number)
            continue
        filling = False
        clock += given["step"] / 1e3
        steps += 1
        idle += 3 - len(running)
        for number in running:
            tokens[number].append(clock)
        running = [number for number in running if len(tokens[number]) < lengths[number]]
    return tokens, steps, idle
