"""Has cells of unknown types, without types, and fields of wrong types.

earns: honest
"""

import json


def make(notebook):
    """What is no code is not run."""
    tree = json.loads(notebook)
    for kind in ("heading", "evil", 7, None, ["code"], {}):
        cell = {"cell_type": kind, "source": "q1_per_gpu = 0", "metadata": [], "outputs": 7}
        tree["cells"] += [cell, {**cell, "attachments": {"x": {"image/png": 1}}}]
    tree |= {"metadata": [], "nbformat_minor": "x", "extra": {"__proto__": 1}}
    return json.dumps(tree).encode()
