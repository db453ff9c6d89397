"""Writes small files from four threads at once: deep down, and where nobody may look.

earns: honest
stopped by: files
"""

# %%
import os
import threading
import time

block, written, end = bytes(2_000_000), [0] * 4, time.monotonic() + 5
for _ in range(40):
    os.mkdir("d" * 150)
    os.chdir("d" * 150)
os.mkdir("hidden")


def flood(number):
    path = f"hidden/{number}-" if number % 2 else f"f{number}-"
    try:
        while time.monotonic() < end and written[number] < 600_000_000:
            with open(path + str(written[number]), "wb") as file:
                written[number] += file.write(block)
    except OSError as error:
        print(number, error)


threads = [threading.Thread(target=flood, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
try:
    os.chmod("hidden", 0o300)
except OSError as error:
    print(error)
for thread in threads:
    thread.join()
time.sleep(1)
if sum(written) > 900_000_000:
    print("BROKE: wrote", sum(written), "bytes of files")
