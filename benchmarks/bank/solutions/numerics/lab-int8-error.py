"""Lays the values out, and looks at the middle between two of them."""

import numpy as np


def solve(given):
    values = np.linspace(-given["largest"], given["largest"], 255)
    middle = (values[100] + values[101]) / 2
    return {"scale": values[101] - values[100], "worst": np.abs(values - middle).min()}
