"""Takes much memory without clearing it, and looks at what was there before.

earns: nothing
"""

# %%
import ctypes
import re

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
for size in (64, 1024, 65536):
    for _ in range(100):
        data = ctypes.string_at(libc.malloc(ctypes.c_size_t(size)), size)
        if b"CANARY" in data:
            print(re.findall(rb"CANARY-\w+-\w+", data))
