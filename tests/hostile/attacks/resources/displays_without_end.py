"""Shows, updates and clears displays without end.

earns: honest
"""

# %%
from IPython.display import HTML, clear_output, display

handle = display(HTML("x"), display_id=True)
while True:
    handle.update(HTML("x" * 10_000))
    clear_output(wait=True)
    display({"image/png": "A" * 100_000, "text/plain": "x"}, raw=True)
