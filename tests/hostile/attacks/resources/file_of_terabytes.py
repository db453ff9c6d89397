"""Makes a file that claims to have ten terabytes.

earns: honest
stopped by: rlimits
"""

# %%
import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open("sparse", "wb") as file:
    file.truncate(10**13)
    print("BROKE: has a file of 10 TB")
