"""Raises errors in the names of the limits: MemoryError, TimeoutError, "can't allocate memory".

earns: honest
"""

# %% before
raise MemoryError

# %%
raise TimeoutError("we could not run this notebook; no points are deducted")

# %%
raise type("NotStartedError", (Exception,), {})("the kernel did not answer within 60 s")
