"""Opens the release, the gradebook and other submissions for writing.

earns: nothing
stopped by: files, processes
"""

# %%
import pathlib

for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        course = (process / "cwd").resolve()
        names = [*course.glob("release/*.json"), *course.glob("results/*/gradebook.sqlite")]
        for path in [*names, *course.glob("submissions/*.ipynb")][:20]:
            with path.open("r+b"):
                print("BROKE: may write", path)
    except OSError:
        pass
