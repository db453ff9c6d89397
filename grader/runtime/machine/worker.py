"""A process that measures figures; it prints each as a line of JSON."""

from __future__ import annotations

import gc
import json
import os
import sys


def main() -> None:
    """Reads the assignment from stdin and writes events to stdout."""
    from grader.runtime.machine.bench import FAULTS, Assignment, Bench, seconds_per_call
    from grader.runtime.machine.figures import event_seconds, measure_cpu, measure_cuda

    # What libraries print must not mix with the events.
    with os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1) as events:
        os.dup2(2, 1)

        def emit(what: str, data: object) -> None:
            events.write(json.dumps({what: data}) + "\n")

        assignment = Assignment(**json.load(sys.stdin))
        is_cuda = assignment.device == "cuda"
        # Garbage collection would disturb some of the samples.
        gc.disable()
        try:
            timer = event_seconds if is_cuda else seconds_per_call
            (measure_cuda if is_cuda else measure_cpu)(Bench(assignment, emit, timer))
        except FAULTS as error:
            emit("failed", str(error) or type(error).__name__)
        emit("done", True)
