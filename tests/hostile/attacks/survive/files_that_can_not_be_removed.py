"""Makes its files immutable.

earns: honest
unsafe without: privileges
"""

# %%
import array
import fcntl

SET_FLAGS, IMMUTABLE = 0x40086602, 0x10
with open("mine", "w") as file:
    fcntl.ioctl(file, SET_FLAGS, array.array("l", [IMMUTABLE]))
    print("BROKE: made a file that nobody can remove")
