"""Makes folders that are hard to remove: deep, locked, with odd names and loops.

earns: honest
"""

# %%
import os

for _ in range(1000):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)

# %%
import os

os.chdir(os.path.expanduser("~"))
for name in ("a\nb", "\x1b[2J", "-rf", "x" * 255, "\udcff", " ", "*", "../".replace("/", "\\")):
    os.mkdir(name)
    open(os.path.join(name, "f"), "w").close()
    os.chmod(os.path.join(name, "f"), 0)
    os.chmod(name, 0)
os.chmod(".", 0)
