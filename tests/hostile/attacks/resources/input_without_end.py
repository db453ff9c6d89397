"""Asks for input without end.

earns: honest
"""

# %% before
while True:
    try:
        input("more? ")
    except Exception:
        pass

# %%
import io
import sys

sys.stdin.read()
io.open(0).read()
import getpass

getpass.getpass()
