"""Changes the name of the machine and its clock, to what they are already.

earns: nothing
unsafe without: privileges
"""

# %%
import socket
import time

try:
    socket.sethostname(socket.gethostname())
    print("BROKE: may change the machine's name")
except OSError as error:
    print(error)

# %%
try:
    time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME))
    print("BROKE: may set the clock")
except OSError as error:
    print(error)
