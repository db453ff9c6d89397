"""Sets large answers in five hundred cells, so that they are asked for again and again.

earns: less
slow: yes
"""

import json


def make(notebook):
    """Each cell names all answers, and makes them as large as may be sent."""
    tree = json.loads(notebook)
    source = "q1_per_gpu = q1_fits = q2_loader_workers = q3_per_token = ['x' * 9000] * 11"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    tree["cells"] += [{**cell, "id": f"more-{number}"} for number in range(500)]
    return json.dumps(tree).encode()
