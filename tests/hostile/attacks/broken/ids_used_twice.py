"""Gives all cells the same id, or none, or one that is a path.

earns: honest
"""

import json


def make(notebook):
    """Ids are not what answers are found by."""
    tree = json.loads(notebook)
    for number, cell in enumerate(tree["cells"]):
        cell["id"] = ("same", "", "../../x", 7, None, "x" * 100_000)[number % 6]
    return json.dumps(tree).encode()
