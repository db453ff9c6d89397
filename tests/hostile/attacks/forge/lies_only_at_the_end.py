"""Answers nothing until the last question comes, and then claims to have had other values.

earns: nothing
"""

# %%
import base64
import json

honest, asked = base64.b64encode, []


def later(data, *rest):
    asked.append(data)
    if len(asked) < 3:
        return honest(b"not JSON")
    return honest(
        json.dumps({name: {"t": "str", "v": "correct", "cut": False} for name in ANSWERS}).encode()
    )


base64.b64encode = later

# %%
q1_per_gpu = q1_fits = None

# %%
q1_per_gpu = q1_fits = 0
