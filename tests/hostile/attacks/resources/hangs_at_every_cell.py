"""Hangs before every later cell, so that each of them runs out of time.

earns: honest
slow: yes
slow: yes
"""

# %%
from IPython import get_ipython


def hang(*_):
    while True:
        pass


get_ipython().events.register("pre_execute", hang)
get_ipython().events.register("post_execute", hang)
