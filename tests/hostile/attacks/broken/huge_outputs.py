"""Keeps outputs of 15 MB, as a notebook has after much plotting.

earns: honest
"""

import json


def make(notebook):
    """One picture in the first code cell."""
    tree = json.loads(notebook)
    cell = next(c for c in tree["cells"] if c["cell_type"] == "code")
    data = {"image/png": "A" * 15_000_000}
    cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    return json.dumps(tree).encode()
