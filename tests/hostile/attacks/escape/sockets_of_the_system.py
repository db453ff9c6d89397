"""Connects to sockets in the file system and without a name: Docker, D-Bus, agents, ours.

earns: nothing
stopped by: network, landlock, files
"""

# %%
import glob
import socket

names = ["/var/run/docker.sock", "/run/systemd/private", "/run/dbus/system_bus_socket", ABSTRACT]
names += glob.glob("/tmp/ssh-*/*") + glob.glob("/run/user/*/*") + glob.glob("/tmp/*/*.sock")
for name in names:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_UNIX, kind) as connection:
                connection.settimeout(0.3)
                connection.connect(name)
                connection.send(TOKEN.encode())
                print("BROKE: connected to", name)
        except OSError as error:
            print(repr(name), error)
