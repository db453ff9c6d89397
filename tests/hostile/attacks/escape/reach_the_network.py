"""Connects to servers on this machine by TCP and by UDP, and looks for a way to the world.

earns: nothing
stopped by: network
"""

# %%
import socket

for host in ("127.0.0.1", "::1", "localhost"):
    try:
        with socket.create_connection((host, PORT), timeout=0.5) as connection:
            connection.sendall(TOKEN.encode())
            print("BROKE: connected to", host)
    except OSError as error:
        print(host, error)

# %%
try:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(TOKEN.encode(), ("127.0.0.1", PORT))
    sender.connect(("192.0.2.1", 53))  # sends nothing, but fails where there is no way out
    print("BROKE: there is a way out of this machine")
except OSError as error:
    print(error)
