"""Has a line of four megabytes that nearly sets every answer.

earns: honest
"""

import json


def make(notebook):
    """Slow for whoever searches it with a careless expression."""
    tree = json.loads(notebook)
    text = "# " + "q1_per_gpu = (" * 300_000
    tree["cells"].append({"cell_type": "code", "metadata": {}, "outputs": [], "source": text})
    return json.dumps(tree).encode()
