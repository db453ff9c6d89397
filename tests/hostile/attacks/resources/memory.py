"""Takes memory and writes to all of it, up to three times what it may have.

earns: honest
stopped by: rlimits
needs: numpy
says: limit: 1 GB of memory
"""

# %%
import numpy as np

taken = [np.zeros(100_000_000, dtype=np.uint8) for _ in range(30)]
for block in taken:
    block[::4096] = 1
print("BROKE: has 3 GB of memory")
