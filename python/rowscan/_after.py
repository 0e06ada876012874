"""_after.py - what is done as soon as another module is imported, for rowscan imports none that it is not asked to

SPDX-License-Identifier: MIT
"""
import importlib.util
import sys
import warnings


class _Finder:
    """Finds nothing by itself: it has the one who finds the module do more once the module has run."""

    def __init__(self):
        self.wanted = {}

    def find_spec(self, name, path=None, target=None):
        wanted = self.wanted.pop(name, None)
        if wanted is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                for do in wanted:
                    _attempt(name, do)
            spec.loader.exec_module = exec_module
        return spec


def _attempt(name, do):
    """No import of another module fails because of rowscan, which says so again when it is given that one's arrays."""
    try:
        do()
    except Exception as error:
        warnings.warn(f"rowscan does not serve this {name}: {error}", RuntimeWarning, stacklevel=3)


_finder = _Finder()


def after_import(name, do):
    """Calls do() now if a module is there, else when it is."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        _attempt(name, do)
        return
    _finder.wanted.setdefault(name, []).append(do)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
