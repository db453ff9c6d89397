"""Writes a file into every folder that others read: temporary, system, home, packages, startup.

earns: nothing
stopped by: files
"""

# %%
import os
import pathlib
import pwd
import sys
import tempfile

home = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)
course = pathlib.Path(f"/proc/{os.getppid() or 1}/cwd")
places = ["/", "/etc", "/run", "/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir(), *sys.path]
places += [home, home / ".ssh", home / ".config", home / ".ipython/profile_default/startup"]
places += [course, course / "submissions", course / "results", course.parent / "home", sys.prefix]
for place in places:
    try:
        pathlib.Path(place, TOKEN).write_text("# " + TOKEN)
        print("wrote", place)
    except OSError as error:
        print(error)
