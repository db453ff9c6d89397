"""Opens sockets of families that a notebook has no use for.

earns: nothing
stopped by: system-calls
"""

# %%
import socket

families = {"packet": (17, 3), "netlink": (16, 3), "vsock": (40, 1), "alg": (38, 5), "xdp": (44, 3)}
families |= {"bluetooth": (31, 3), "key": (15, 3), "raw": (2, 3), "can": (29, 3), "rds": (21, 5)}
for name, (family, kind) in families.items():
    try:
        socket.socket(family, kind, 1 if name == "raw" else 0)
        print("BROKE: has a socket of the family", name)
    except OSError as error:
        print(name, error)
