"""Opens the grader's own code, the interpreter and cached bytecode for writing.

earns: nothing
stopped by: files
"""

# %%
import json
import os
import pathlib
import sys

targets = [json.__file__, json.__cached__, sys.executable, os.__file__]
for folder in sys.path:
    targets += pathlib.Path(folder or ".").glob("grader/**/*.py")
for target in targets:
    try:
        with open(target, "r+b"):
            print("BROKE: may write", target)
    except OSError as error:
        print(error)
