"""What a notebook tries against each layer of the sandbox, in a cell for each.

A cell lists in `got` what it achieved, which should be nothing. The cell before them imports `os`,
`socket`, and `time`, and sets `SEEN`, a file of the grader's user, `GRADER`, its process id, and how
to reach its sockets.
"""

# %% environment
got = [name for name in os.environ if 'SECRET' in name]

# %% scratch
# Each file is within the limit for one file, and none has a name.
kept = []
try:
    for number in range(6):
        kept.append(open("fill", "wb"))
        os.remove("fill")
        kept[-1].write(bytes(10_000_000))
        kept[-1].flush()
    got = ["wrote 60 MB of files, more than the limit of 20 MB"]
    time.sleep(2)  # if a supervisor checks the folder, it ends this kernel
except OSError:
    got = []
for file in kept:
    try:
        file.close()
    except OSError:
        pass

# %% rlimits
import resource
names = ("RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE")
got = [n for n in names if resource.getrlimit(getattr(resource, n))[1] == resource.RLIM_INFINITY]

# %% user
seen = SEEN if os.path.exists(SEEN) else "/"
is_theirs = os.stat(seen).st_uid == os.getuid() and not os.getuid()
got = ["runs as root"] if is_theirs else []

# %% files
got = []
for path in (SEEN, os.path.dirname(SEEN), "/etc/shadow"):
    try:
        got += [path] if (os.listdir(path) if os.path.isdir(path) else open(path).read()) else []
    except OSError:
        pass
for path in ("/usr/planted", os.path.dirname(os.__file__) + "/planted.py", SEEN + ".planted"):
    try:
        open(path, "w").close()
        got.append("wrote " + path)
        os.remove(path)
    except OSError:
        pass

# %% metadata
# Changes to the present values, so that nothing is lost; the time of the last change shows it.
got = []
for path in (SEEN, os.__file__):
    try:
        before = os.stat(path)
    except OSError:
        continue
    mode = before.st_mode & 0o777
    for name, change in (("mode", lambda: os.chmod(path, mode)),
                         ("mode", lambda: os.fchmod(os.open(path, os.O_RDONLY), mode)),
                         ("owner", lambda: os.chown(path, os.getuid(), -1)),
                         ("times", lambda: os.utime(path, (1, 1)) if path == SEEN else None)):
        try:
            change()
            if os.stat(path).st_ctime_ns != before.st_ctime_ns:
                got.append(f"changed the {name} of {path}")
        except OSError:
            pass

# %% network
import socket
got = []
for family, where in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_UNIX, "\0" + ABSTRACT)):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as line:
            line.settimeout(2)
            line.connect(where)
            got.append(f"connected to {where!r}")
    except OSError:
        pass

# %% processes
got = []
try:
    os.kill(GRADER, 0)
    with open(f"/proc/{GRADER}/environ", "rb") as file:
        mine = open("/proc/self/environ", "rb").read()
        got = [f"could signal process {GRADER}"] if file.read() != mine else []
except OSError:
    pass

# %% ipc
got = [] if os.readlink('/proc/self/ns/ipc') != IPC else ['the same ipc namespace']

# %% hostname
got = [] if os.uname().nodename != HOST else [HOST]

# %% landlock
got = []
try:
    os.link(os.__file__, "linked.py")
    got.append("made a link to a file of the interpreter's")
except OSError:
    pass

# %% system-calls
# With invalid arguments, so that a call that is not refused does nothing.
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
got = []
calls = {"unshare": (0,), "ptrace": (-1, 0, None, None), "setns": (-1, 0),
         "mount": (b"", b"/no/such/folder", b"", 0, None)}
for name, arguments in calls.items():
    if getattr(libc, name)(*arguments) >= 0 or ctypes.get_errno() not in (1, 38):
        got.append(name)
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    got.append("a raw socket")
except OSError:
    pass

# %% privileges
with open("/proc/self/status") as file:
    status = dict(line.split(":", 1) for line in file if ":" in line)
got = [k for k in ("CapEff", "CapPrm", "CapInh") if int(status[k], 16)]
got += [] if status["NoNewPrivs"].strip() == "1" else ["new privileges"]
