"""Runs for ever before the answers.

earns: honest
says: ran longer than 2 s
"""

# %% before
while True:
    pass
