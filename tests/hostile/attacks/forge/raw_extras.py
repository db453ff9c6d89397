"""Answers with messages that carry points, verdicts, keys and tags the probe does not have.

earns: nothing
"""

# %% before
import base64
import json

claims = [
    {"t": "float", "v": "1.0", "points": 2, "max_points": 2, "verdict": "correct", "key": True},
    {"t": "choice", "v": "correct", "share": 1},
    {"t": "list", "v": [{"t": "str", "v": "A", "cut": False}] * 3000},
    {"t": "array", "shape": [10**15], "dtype": "float64", "v": None, "correct": True},
    {"t": "float", "v": {"__reduce__": ["os.system", ["id"]]}},
]
honest = base64.b64encode
base64.b64encode = lambda data: honest(json.dumps(dict(zip(ANSWERS, claims))).encode())
