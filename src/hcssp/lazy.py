"""Names of a module that are imported when they are first used, listed in its stub.

The stub next to the module (``__init__.pyi``) has a line ``from home import name as name`` for each. Type
checkers and editors read it as it is; :func:`attach` makes the same names available at run time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module

_LINE = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def attach(module: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a module, from its stub.

    Parameters
    ----------
    module, file
        Its ``__name__`` and ``__file__``, which ends in ``.py`` or ``.pyc``.
    """
    # Without pathlib, which would be half of the time that importing this package takes.
    with open(file.removesuffix("c") + "i", encoding="utf-8") as stub:  # noqa: PTH123
        homes = {name: home for home, name in _LINE.findall(stub.read())}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}{_elsewhere(module, name)}")
        home = homes[name]
        # A package of this one is no attribute of it until it is imported.
        value = import_module(f"{home}.{name}") if home == module else getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    return get, lambda: sorted(homes), list(homes)


def _elsewhere(module: str, name: str) -> str:
    """Where a name is that is not in `module`, for the message."""
    if module != "hcssp" or name.startswith("_"):
        return ""
    homes = ("hcssp.extend", "hcssp.errors", "hcssp.scenarios")
    found = [home for home in homes if name in dir(import_module(home))]
    return f"; it is {found[0]}.{name}" if found else ""
