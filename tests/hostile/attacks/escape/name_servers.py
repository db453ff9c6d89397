"""Asks for the addresses of names, by the resolver and by messages of its own.

earns: nothing
stopped by: network
"""

# %%
import socket

socket.setdefaulttimeout(0.5)
query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03edu\x00\x00\x01\x00\x01"
servers = ["127.0.0.53"]
try:
    lines = open("/etc/resolv.conf").read().splitlines()
    servers += [line.split()[1] for line in lines if line.startswith("nameserver")]
except OSError as error:
    print(error)
for server in servers:
    try:
        with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, 2) as asking:
            asking.sendto(query, (server, 53))
            if asking.recv(512):
                print("BROKE: a name server has answered")
    except OSError as error:
        print(server, error)
