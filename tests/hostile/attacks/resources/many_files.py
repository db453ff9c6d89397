"""Makes as many files, folders and links as it can in a second and a half.

earns: honest
"""

# %%
import os
import time

end = time.monotonic() + 1.5
number = 0
while time.monotonic() < end and number < 50_000:
    os.mkdir(f"d{number}")
    os.symlink("..", f"d{number}/up")
    os.close(os.open(f"d{number}/f", os.O_CREAT))
    number += 1
