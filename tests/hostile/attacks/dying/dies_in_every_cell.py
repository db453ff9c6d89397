"""Dies in every cell, more often than a kernel is started again.

earns: nothing
"""

# %% before
import os

os._exit(0)

# %% before
import os

os.abort()

# %% before
import os

os.kill(os.getpid(), 11)

# %% before
import os

os._exit(9)

# %% before
import os

os._exit(9)
