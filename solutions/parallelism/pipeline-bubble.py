"""Run both schedules event by event, watch every GPU, and look for the target by trial.

The road differs from the formulas: operations start when their inputs and their GPU are free, idle
time and stored micro-batches are read off the timeline, and the smallest number of micro-batches
is found by counting the empty cells of the schedule's grid for more and more micro-batches.
"""

import numpy as np


def gpipe(_stages, micro_batches, _stage):
    """Return what a stage runs under GPipe, in order."""
    forwards = [("F", j) for j in range(micro_batches)]
    return forwards + [("B", j) for j in range(micro_batches)]


def one_f_one_b(stages, micro_batches, stage):
    """Return what a stage runs under 1F1B: warm-up, one forward one backward, cool-down."""
    warm = min(micro_batches, stages - 1 - stage)
    order = [("F", j) for j in range(warm)]
    for j in range(micro_batches - warm):
        order += [("F", warm + j), ("B", j)]
    return order + [("B", j) for j in range(micro_batches - warm, micro_batches)]


def run(schedule, stages, micro_batches, forward, backward):
    """Return the time of the last end, and the most micro-batches each stage ever stored."""
    queues = [schedule(stages, micro_batches, i) for i in range(stages)]
    position, free = [0] * stages, [0.0] * stages
    stored, most = [0] * stages, [0] * stages
    ended = {}
    left = sum(map(len, queues))
    while left:
        for i, queue in enumerate(queues):
            while position[i] < len(queue):
                what, j = queue[position[i]]
                if what == "F":
                    ready = 0.0 if i == 0 else ended.get(("F", i - 1, j))
                elif i == stages - 1:
                    ready = ended.get(("F", i, j))
                else:
                    ready = ended.get(("B", i + 1, j))
                if ready is None:
                    break
                free[i] = max(free[i], ready) + (forward if what == "F" else backward)
                ended[what, i, j] = free[i]
                stored[i] += 1 if what == "F" else -1
                most[i] = max(most[i], stored[i])
                position[i] += 1
                left -= 1
    return max(ended.values()), most


def bubble_of(stages, micro_batches):
    """Return the share of empty cells in the grid of stages and slots."""
    slots = np.add.outer(np.arange(stages), np.arange(micro_batches))
    cells = stages * (slots.max() + 1)
    return (cells - slots.size) / cells


def fewest(stages, target_percent):
    """Return the least number of micro-batches whose bubble is within the target."""
    enough = 1
    while round(1e9 * bubble_of(stages, enough)) > round(1e7 * target_percent):
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if round(1e9 * bubble_of(stages, middle)) > round(1e7 * target_percent):
            too_few = middle
        else:
            enough = middle
    return enough


def share(stages, micro_batches, forward=1.0, backward=2.0, schedule=gpipe):
    end, _ = run(schedule, stages, micro_batches, forward, backward)
    return 1 - micro_batches * (forward + backward) / end


def interleaved_order(gpus, micro_batches, chunks, gpu):
    """Return what a GPU runs under interleaved 1F1B: GPUs take turns in groups of micro-batches."""
    groups = range(0, micro_batches, gpus)
    forwards = [("F", c, g + j) for g in groups for c in range(chunks) for j in range(gpus)]
    backwards = [
        ("B", c, g + j) for g in groups for c in reversed(range(chunks)) for j in range(gpus)
    ]
    warm = min(2 * (gpus - gpu - 1) + (chunks - 1) * gpus, len(forwards))
    order = forwards[:warm]
    for forward, backward in zip(forwards[warm:], backwards, strict=False):
        order += [forward, backward]
    return order + backwards[len(forwards) - warm :]


def interleaved(gpus, micro_batches, chunks):
    """Return the bubble when GPU i holds the chunks i, gpus + i, and so on, event by event."""
    queues = [interleaved_order(gpus, micro_batches, chunks, i) for i in range(gpus)]
    position, free, ended = [0] * gpus, [0] * gpus, {}
    last = gpus * chunks - 1
    while any(position[i] < len(queues[i]) for i in range(gpus)):
        for i in range(gpus):
            while position[i] < len(queues[i]):
                what, chunk, j = queues[i][position[i]]
                part = chunk * gpus + i
                if what == "F":
                    ready = 0 if part == 0 else ended.get(("F", part - 1, j))
                elif part == last:
                    ready = ended.get(("F", part, j))
                else:
                    ready = ended.get(("B", part + 1, j))
                if ready is None:
                    break
                free[i] = max(free[i], ready) + (1 if what == "F" else 2)
                ended[what, part, j] = free[i]
                position[i] += 1
    return 1 - 3 * chunks * micro_batches / max(free)


def shrinking(of_bubble, p=4, m=8):
    """Return the changes that reduce the bubble, or the step, of a small pipeline."""

    def measure(stages, count, forward=1.0, backward=2.0, schedule=gpipe):
        if of_bubble:
            return share(stages, count, forward, backward, schedule)
        return run(schedule, stages, count, forward, backward)[0]

    before = measure(p, m)
    after = {
        "finer": measure(p, 2 * m, 0.5, 1.0),
        "shorter": measure(p // 2, m, 2.0, 4.0),
        "one_f_one_b": measure(p, m, schedule=one_f_one_b),
        "faster_backward": measure(p, m, 1.0, 1.5),
        "faster_gpus": measure(p, m, 0.5, 1.0),
    }
    return {name for name, value in after.items() if value < before - 1e-9}


def solve(given):
    p, m, forward = given["stages"], given["micro_batches"], given["forward_time"]
    end, held = run(gpipe, p, m, forward, 2 * forward)
    _, held_1f1b = run(one_f_one_b, p, m, forward, 2 * forward)
    stash = given["stash"]
    return {
        "bubble": 100 * (1 - m * 3 * forward / end),
        "step_time": end,
        "needed": fewest(p, given["target_percent"]),
        "held": [[held[i] * stash, held_1f1b[i] * stash] for i in (0, p // 2)],
        "interleaved": 100 * interleaved(p, m, given["chunks"]),
        "shrink": shrinking(given["of_bubble"]),
    }
