"""Deletes modules, builtins, streams and the shell itself.

earns: honest
"""

# %%
import builtins
import sys

del sys.stdout, sys.stderr
get_ipython().kernel.shell = None
sys.modules.clear()
builtins.__dict__.clear()
