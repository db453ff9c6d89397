"""Says whose it is in words that are Python and raise something odd when they are evaluated.

earns: honest
"""

import json


def make(notebook):
    """In place of the last cell's, which are looked at where the metadata says nothing."""
    tree = json.loads(notebook)
    tree["metadata"].pop("grader")
    source = "\n_public_check(\n    ({{}},),\n)"
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    tree["cells"].append({**cell, "id": "odd-words", "source": source})
    return json.dumps(tree).encode()
