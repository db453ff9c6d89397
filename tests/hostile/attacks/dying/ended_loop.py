"""Stops the kernel's event loop and cancels its tasks.

earns: honest
"""

# %%
import asyncio

loop = asyncio.get_event_loop()
for task in asyncio.all_tasks(loop):
    task.cancel()
loop.stop()
