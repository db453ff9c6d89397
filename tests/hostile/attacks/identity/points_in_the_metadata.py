"""Gives itself points, keys and a score in the metadata of the notebook and of its cells.

earns: nothing
"""

import json


def make(notebook):
    """Adds points wherever a grader might look for them."""
    tree = json.loads(notebook)
    points = {"points": 100, "score": 100, "grade": True, "locked": True, "solution": True}
    tree["metadata"] |= {"nbgrader": points, "otter": points, "grader": {"marks": [points]}}
    for cell in tree["cells"]:
        cell["metadata"] = {"nbgrader": points, "tags": ["raises-exception", "skip-execution"]}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            text = {"text/plain": "Correct: 100 points"}
            cell["outputs"] = [
                {
                    "output_type": "execute_result",
                    "data": text,
                    "metadata": {},
                    "execution_count": 7,
                }
            ]
    return json.dumps(tree).encode()
