"""Imports the grader, if it is there, and reads the specs and the solutions of the problems.

earns: nothing
stopped by: files
"""

# %%
try:
    from grader.bank.folders import Bank

    bank = Bank.open()
    print("BROKE: has the spec", bank.path("fsdp-state-per-gpu").read_text()[:40])
    print("BROKE: has the solution", bank.solution("fsdp-state-per-gpu").read_text()[:40])
except Exception as error:
    print(type(error), error)

# %%
import pathlib
import sys

for folder in sys.path:
    for top in (pathlib.Path(folder), pathlib.Path(folder, "grader", "_bank")):
        for path in [*top.glob("solutions/*/fsdp*.py"), *top.glob("problems/*/fsdp*.yaml")]:
            print("BROKE: can read", path, len(path.read_text()))
