"""Ignores the signal by which a cell is interrupted.

earns: honest
says: ran longer than 2 s
"""

# %% before
import signal

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU):
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
