"""Plants code that runs when Python or IPython next starts: a .pth file and a startup script.

earns: nothing
stopped by: files
"""

# %%
import os
import pathlib
import pwd
import site

home = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)
startup = home / ".ipython" / "profile_default" / "startup"
for place in [*site.getsitepackages(), site.getusersitepackages(), startup]:
    for name in (TOKEN + ".pth", TOKEN + ".py"):
        try:
            pathlib.Path(place, name).write_text("# " + TOKEN)
            print("wrote", place)
        except OSError as error:
            print(error)
