"""Is JSON, but no notebook: keys twice, cells as an object, text where cells belong.

earns: refused
"""


def make(notebook):
    """The last of two keys counts."""
    return notebook.rstrip()[:-1] + b', "cells": {"0": "q1_per_gpu = 1"}}'
