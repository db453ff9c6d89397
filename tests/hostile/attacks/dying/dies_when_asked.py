"""Dies whenever it is asked for an answer.

earns: honest
"""

# %%
import base64
import os

base64.b64encode = lambda _: os._exit(0)
