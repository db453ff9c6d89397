"""Raises what is no ordinary error: interrupts, exits of generators, bases, and classes of its own.

earns: honest
"""

# %% before
raise KeyboardInterrupt

# %% before
raise GeneratorExit

# %% before
raise BaseException("x")

# %% before
import asyncio

raise asyncio.CancelledError

# %%
raise type("\u202e\x1b[2J<b>", (BaseException,), {"__str__": lambda self: "\0\ud800"})
