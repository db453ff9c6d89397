"""Lets other programs write without end to the standard output they inherit.

earns: honest
"""

# %%
!yes

# %%
import subprocess

subprocess.Popen(["yes", TOKEN])
