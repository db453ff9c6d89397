"""Says in the notebook's metadata that it is another student's, of another release and set.

earns: honest
"""

import json


def make(notebook):
    """Changes what the notebook says about itself."""
    tree = json.loads(notebook)
    about = tree["metadata"]["grader"]
    about |= {"student": "s000", "set": "other", "release": "0" * 16, "seed": 1, "schema": "v99"}
    about["answers"] = [{"name": "q1_per_gpu", "kind": "integer", "points": 100, "key": 1}]
    return json.dumps(tree).encode()
