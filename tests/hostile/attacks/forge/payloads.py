"""Uses the payloads of a reply: next input, pages, edits and a silent exit.

earns: nothing
"""

# %%
from IPython import get_ipython

shell = get_ipython()
shell.set_next_input("q1_per_gpu = 1", replace=True)
shell.payload_manager.write_payload({"source": "ask_exit", "keepkernel": False})
shell.payload_manager.write_payload({"source": "edit", "filename": "/etc/passwd"})
shell.payload_manager.write_payload({"source": "page", "data": {"text/plain": "correct"}})
