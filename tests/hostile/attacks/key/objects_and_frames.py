"""Searches all Python objects, modules and frames of its process for something of the grader.

earns: nothing
"""

# %%
import gc
import inspect
import sys

print([name for name in sys.modules if name.startswith("grader") and "worker" not in name])
for frame in inspect.stack():
    print([name for name in frame.frame.f_globals if "grader" in name.lower()])
for found in gc.get_objects():
    name = type(found).__module__ or ""
    if isinstance(name, str) and name.startswith("grader.") and not name.startswith("grader.runtime.worker"):
        print("BROKE: holds an object of", name)
for name in sys.modules:
    if name.startswith("grader.") and not name.startswith("grader.runtime.worker"):
        print("BROKE: has imported", name)
