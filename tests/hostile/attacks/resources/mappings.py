"""Maps single pages to which it never writes, in as many processes as it may have.

earns: honest
"""

# %%
import ctypes
import os
import time

c = ctypes.CDLL(None)
c.mmap.restype = ctypes.c_void_p
c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
failed = ctypes.c_void_p(-1).value


def map_pages():
    mapped = 0
    while mapped < 60_000 and c.mmap(None, 4096, mapped % 2, 0x22, -1, 0) != failed:
        mapped += 1
    return mapped


read, write = os.pipe()
os.set_blocking(read, False)
for _ in range(100):
    try:
        child = os.fork()
    except OSError as error:
        print(error)
        break
    if child == 0:
        if map_pages() == 60_000:
            os.write(write, b"x")
        time.sleep(3)
        os._exit(0)
time.sleep(3)
if len(os.read(read, 1000)) * 60_000 * 240 > 1_200_000_000:
    print("BROKE: has more than a gigabyte of mappings")
