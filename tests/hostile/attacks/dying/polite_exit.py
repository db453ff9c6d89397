"""Leaves by exit, quit, sys.exit and SystemExit, and asks the kernel to shut down.

earns: honest
"""

# %% before
exit()

# %% before
raise SystemExit("done")

# %%
import sys
import threading

threading.Thread(target=sys.exit, args=(1,)).start()
quit()
sys.exit(0)

# %%
from IPython import get_ipython

shell = get_ipython()
shell.ask_exit()
try:
    shell.exit_now = True
    shell.kernel.do_shutdown(False)
except AttributeError as error:
    print(error)
