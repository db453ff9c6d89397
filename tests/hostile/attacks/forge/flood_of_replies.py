"""Answers every question ten thousand times, and never says that it is idle.

earns: honest
slow: yes
"""

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
honest = kernel.session.send


def send(stream, message, content=None, *rest, **options):
    if message == "execute_reply":
        for _ in range(10_000):
            honest(stream, message, content, *rest, **options)
    if message == "status" and content == {"execution_state": "idle"}:
        return None
    return honest(stream, message, content, *rest, **options)


kernel.session.send = send
