"""Sets and deletes answers, sets them in functions, threads and other spaces only.

earns: nothing
"""

# %%
import threading

q1_per_gpu = 1.0
del q1_per_gpu
threading.Thread(target=lambda: exec("q3_per_token = 1", {})).start()


class Space:
    q2_loader_workers = -1


def answer():
    q1_fits = "A"
    return q1_fits


%reset -f
