"""Recurses as far as Python allows, in Python, in repr, in json and in the parser.

earns: honest
slow: yes
"""


# %% before
def deeper():
    deeper()


deeper()

# %% before
import json

nested = []
for _ in range(100_000):
    nested = [nested]
json.dumps(nested)

# %% before
compile("x" + "+x" * 10**6, "x", "eval")
