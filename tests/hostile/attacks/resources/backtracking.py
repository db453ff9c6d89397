"""Matches a regular expression that takes longer than the universe has been there.

earns: honest
says: ran longer than 2 s
"""

# %% before
import re

re.match(r"(x+x+)+y", "x" * 60)
