"""Has cells whose text is a number, a list of lists, or missing.

earns: refused
says: no readable text
"""

import json


def make(notebook):
    """The first that can't be read is named."""
    tree = json.loads(notebook)
    tree["cells"] += [{"cell_type": "code"}, {"cell_type": "code", "source": [["1"], 2]}]
    return json.dumps(tree).encode()
