"""Ctrl-C waits for a safe moment, and a second one does not."""

from __future__ import annotations

import signal
import threading

import pytest

from grader.grading.signals import delay_interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted_and_the_second_stops_at_once(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with delay_interrupts() as stopped:
        assert not stopped()
        signal.raise_signal(number)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_in_another_thread_nothing_is_noted() -> None:
    seen: list[object] = []

    def work() -> None:
        with delay_interrupts() as stopped:
            seen.extend([stopped(), signal.getsignal(signal.SIGINT)])

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == [False, before]
