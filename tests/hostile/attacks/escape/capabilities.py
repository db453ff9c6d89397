"""Looks whether it has any right of the superuser, or could get one by running a file.

earns: nothing
stopped by: privileges
"""

# %%
status = dict(
    line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if "\t" in line
)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(status[name], 16):
        print("BROKE: has capabilities", name, status[name])
if status["NoNewPrivs"].strip() != "1":
    print("BROKE: may get new privileges")
