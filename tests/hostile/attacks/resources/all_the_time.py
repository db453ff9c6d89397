"""Uses the time of the whole notebook in many cells, each within its own limit.

earns: honest
slow: yes
says: reached its time limit of 20 s
"""

import json


def make(notebook):
    """Twelve cells of nearly two seconds each."""
    tree = json.loads(notebook)
    cell = {"cell_type": "code", "metadata": {}, "outputs": []}
    source = "import time\ntime.sleep(1.9)"
    tree["cells"] += [{**cell, "id": f"wait-{n}", "source": source} for n in range(12)]
    return json.dumps(tree).encode()
