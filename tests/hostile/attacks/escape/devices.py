"""Opens and makes devices: disks, memory, the kernel's log, terminals, FUSE, KVM.

earns: nothing
stopped by: files, privileges
"""

# %%
import glob
import os
import stat

names = ["/dev/mem", "/dev/kmsg", "/dev/kcore", "/proc/kcore", "/dev/fuse", "/dev/kvm", "/dev/tty"]
names += glob.glob("/dev/[svx]*d[a-z]") + glob.glob("/dev/nvme*") + glob.glob("/dev/loop*")
names += ["/dev/net/tun", "/dev/console", "/dev/port", "/dev/disk"]
for name in names:
    try:
        os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK))
        print("BROKE: may open", name)
    except OSError as error:
        print(name, error)

# %%
for kind, number in ((stat.S_IFBLK, os.makedev(8, 0)), (stat.S_IFCHR, os.makedev(1, 1))):
    try:
        os.mknod("device", kind | 0o600, number)
        os.close(os.open("device", os.O_RDONLY | os.O_NONBLOCK))
        print("BROKE: made a device")
    except OSError as error:
        print(error)
    finally:
        if os.path.lexists("device"):
            os.unlink("device")
