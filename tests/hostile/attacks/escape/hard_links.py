"""Links the instructor's files into its own folder and changes their permissions there.

earns: nothing
stopped by: files
"""

# %%
import os
import pathlib

try:
    course = pathlib.Path(os.readlink(f"/proc/{os.getppid() or 1}/cwd"))
except OSError:
    course = pathlib.Path("/tmp/course")
targets = [*course.glob("release/*.json"), *course.glob("submissions/*"), pathlib.Path(os.__file__)]
for number, path in enumerate(targets[-9:]):
    try:
        os.link(path, f"link-{number}")
        print("BROKE: linked", path)
        os.chmod(f"link-{number}", os.stat(path).st_mode)
    except OSError as error:
        print(error)
