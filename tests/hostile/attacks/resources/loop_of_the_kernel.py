"""Fills the kernel's own event loop with work, so that it answers nothing.

earns: honest
slow: yes
"""

# %%
import asyncio


async def spin():
    while True:
        pass


asyncio.get_event_loop().create_task(spin())
