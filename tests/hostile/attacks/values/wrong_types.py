"""Answers things of other types: classes, modules, functions, files, exceptions, the shell.

earns: nothing
"""

# %%
import sys

things = [int, sys, print, sys.stdout, ValueError("A"), get_ipython(), NotImplemented, object()]
for name, thing in zip(ANSWERS, things):
    globals()[name] = thing

# %%
import datetime
import pathlib
import types

others = [
    datetime.timedelta(1),
    pathlib.Path("A"),
    types.SimpleNamespace(A=1),
    b"A",
    memoryview(b"A"),
]
for name, thing in zip(ANSWERS, others):
    globals()[name] = thing
