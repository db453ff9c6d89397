"""Changes modes, owners, times and attributes of files that are not its own, by every way.

earns: nothing
stopped by: metadata
"""

# %%
import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
shared = os.path.dirname(os.getcwd())
targets = [os.__file__, sys.executable, "/etc/passwd", os.path.dirname(os.__file__)]
targets += [f"{shared}/../{name}" for name in ("lock", "parent", "parent/settings.json", ".")]
targets += [f"/proc/{os.getppid()}/cwd", f"/proc/{os.getppid()}/exe"]
os.symlink(os.__file__, "link-to-it")
targets.append("link-to-it")


def opened(path):
    return os.open(path, os.O_RDONLY)


# To what they are already, so that success does no harm; the time of the last change shows it.
ways = {
    "mode": lambda path, about: os.chmod(path, about.st_mode & 0o7777),
    "mode of an open file": lambda path, about: os.fchmod(opened(path), about.st_mode & 0o7777),
    "mode by /proc": lambda path, about: os.chmod(
        f"/proc/self/fd/{os.open(path, os.O_PATH)}", about.st_mode & 0o7777
    ),
    "owner": lambda path, about: os.chown(path, about.st_uid, -1),
    "owner of an open file": lambda path, about: os.fchown(opened(path), about.st_uid, -1),
    "times": lambda path, about: os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns)),
    "times of an open file": lambda path, about: os.utime(
        opened(path), ns=(about.st_atime_ns, about.st_mtime_ns)
    ),
    "attributes": lambda path, about: os.setxattr(path, b"user." + TOKEN.encode(), b"x"),
    "length": lambda path, about: os.truncate(path, about.st_size),
}
for path in targets:
    try:
        about = os.stat(path)
    except OSError:
        continue
    for what, change in ways.items():
        try:
            change(path, about)
            if os.stat(path).st_ctime_ns != about.st_ctime_ns:
                print("BROKE: changed", what, "of", path)
        except OSError as error:
            print(what, error)
