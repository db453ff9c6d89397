"""Changes its user and groups, makes files that run as another user, and calls sudo and su.

earns: nothing
stopped by: privileges, user
"""

# %%
import os
import shutil
import subprocess

for user in (0, 1, 65534, 12345):
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() != user:
                os.setuid(user)
                os._exit(7)
        finally:
            os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7:
        print("BROKE: became user", user)
try:
    os.setgroups([0])
    print("BROKE: may choose its groups")
except OSError as error:
    print(error)

# %%
for command in (["sudo", "-n", "id", "-u"], ["su", "-c", "id -u"], ["pkexec", "id", "-u"]):
    if shutil.which(command[0]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=1, stdin=-3)
        if done.stdout.strip() == "0":
            print("BROKE: root by", command[0])
        print(command[0], done.stderr[:100])
