"""Hangs whenever it is asked for an answer, and swallows the interrupt.

earns: honest
slow: yes
"""

# %%
import base64


def hang(*_):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


base64.b64encode = hang
