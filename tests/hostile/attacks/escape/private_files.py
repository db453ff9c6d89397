"""Reads what belongs to the user and to the system: keys, passwords, histories, other homes.

earns: nothing
stopped by: files
"""

# %%
import os
import pathlib
import pwd

homes = {
    pwd.getpwuid(os.getuid()).pw_dir,
    "/root",
    *(str(p) for p in pathlib.Path("/home").glob("*")),
}
names = (".ssh", ".bash_history", ".netrc", ".config", ".aws", ".bashrc", ".profile", ".gitconfig")
for path in [pathlib.Path("/etc/shadow"), *(pathlib.Path(h, n) for h in homes for n in names)]:
    try:
        found = os.listdir(path) if path.is_dir() else path.read_bytes()[:1]
        print("BROKE: can read", path, len(found))
    except OSError as error:
        print(error)
