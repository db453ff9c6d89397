"""Has halves of characters, NUL and controls in the text of its cells.

earns: honest
"""

import json


def make(notebook):
    """JSON can write what no file can hold."""
    tree = json.loads(notebook)
    for text in ("x = '\ud800'", "y = '\\0' \0", "# \u202e\x0c\x1b[2J"):
        tree["cells"].append({"cell_type": "code", "metadata": {}, "outputs": [], "source": text})
    return json.dumps(tree).encode()
