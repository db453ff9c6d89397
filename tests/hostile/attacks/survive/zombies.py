"""Leaves two hundred dead children that nobody has waited for.

earns: honest
"""

# %%
import os

for _ in range(200):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError as error:
        print(error)
