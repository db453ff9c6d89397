"""Is a notebook of format 3, which old tools still write.

earns: honest
"""

import json


def make(notebook):
    """Cells on worksheets, code called input."""
    tree = json.loads(notebook)
    for cell in tree["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"input": cell.pop("source"), "language": "python", "prompt_number": 1}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}}
    return json.dumps({**old, "worksheets": [{"cells": tree["cells"]}]}).encode()
