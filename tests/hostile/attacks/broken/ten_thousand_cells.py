"""Has ten thousand cells.

earns: refused
says: cells
"""

import json


def make(notebook):
    """Each of them would be run."""
    tree = json.loads(notebook)
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "1", "id": "x"}
    tree["cells"] += [cell] * 10_000
    return json.dumps(tree).encode()
