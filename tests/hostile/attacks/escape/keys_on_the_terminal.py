"""Types commands into the instructor's terminal, and writes to it.

earns: nothing
stopped by: files, processes
"""

# %%
import fcntl
import os
import termios

for name in ("/dev/tty", f"/proc/{os.getppid() or 1}/fd/0", f"/proc/{os.getppid() or 1}/fd/2"):
    try:
        terminal = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        if os.isatty(terminal):
            print("BROKE: has the terminal", name)
            fcntl.ioctl(terminal, termios.TIOCSTI, b"")
    except OSError as error:
        print(name, error)
