"""Leaves marks in builtins, modules and the environment, for a process that is used again.

earns: nothing
"""

# %%
import builtins
import os
import sys

setattr(builtins, TOKEN, "here I was")
sys.modules[TOKEN] = sys
os.environ[TOKEN] = "here I was"
