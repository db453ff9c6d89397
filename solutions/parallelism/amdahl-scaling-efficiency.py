"""Deal out pieces of work, run them on a clock, and invert the clock by bisection.

The road differs from the formulas: the run is cut into equal pieces of which some stay on GPU 0,
and the time is what the busiest GPU needs. The serial fraction is the one whose simulated time is
the measured one, and the limit is the speedup on a huge number of GPUs.
"""

from fractions import Fraction

import numpy as np


def round_robin_speedup(serial_percent, gpus):
    """Return the speedup of 100 pieces for each GPU, of which a share stays on GPU 0."""
    pieces = 100 * gpus
    serial = serial_percent * gpus
    load = np.bincount(np.arange(pieces - serial) % gpus, minlength=gpus)
    return pieces / (serial + load.max())


def clock(serial, gpus):
    """Return the run time, in units of the run on one GPU, of serial work and then the rest."""
    return serial + (1 - serial) / gpus


def most_gpus(serial_percent, wanted_percent):
    """Return the last number of GPUs, counted up from one, whose efficiency is high enough."""
    serial, gpus = Fraction(serial_percent, 100), 1
    while 1 / clock(serial, gpus + 1) / (gpus + 1) >= Fraction(wanted_percent, 100):
        gpus += 1
    return gpus


def inverted(time, gpus):
    """Return the serial fraction with which the run takes *time*."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if clock(middle, gpus) < time:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def measured(one_run, percent, gpus):
    """Return a measured run time, as the problem prints it."""
    share = percent / 100
    return round(one_run * (share + (1 - share) / gpus), 1)


def solve(given):
    one, few, many = given["one_run"], given["few"], 4 * given["few"]
    first = measured(one, given["hidden_percent"], few)
    second = measured(one, given["hidden_percent"] * given["growth"], many)
    serial = inverted(first / one, few)
    serial_many = inverted(second / one, many)
    speedup = round_robin_speedup(given["serial_percent"], given["gpus"])
    if serial_many > 1.3 * serial:
        diagnosis = "growing_overhead"
    elif serial_many < 0.8 * serial:
        diagnosis = "superlinear"
    else:
        diagnosis = "true_serial"
    return {
        "speedup": speedup,
        "most_gpus": most_gpus(given["serial_percent"], given["wanted_percent"]),
        "serial_fraction": 100 * serial,
        "limit": 1 / clock(serial, 10**12),
        "diagnosis": diagnosis,
    }
