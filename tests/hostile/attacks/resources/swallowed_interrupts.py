"""Catches every interrupt and goes on.

earns: honest
says: ran longer than 2 s
"""

# %%
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
