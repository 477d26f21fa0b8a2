"""Packages that only some users need, imported when they are needed.

>>> extra("json", "parquet", "this example").dumps([1])
'[1]'
>>> extra("no_such_package", "storm", "reading PRISM models")
Traceback (most recent call last):
    ...
hcssp.errors.MissingDependency: reading PRISM models needs no_such_package, which is not installed; \
pip install 'hcssp[storm]'
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hcssp.errors import MissingDependency


def extra(module: str, named: str, purpose: str) -> Any:
    """The module of a package that is installed as an extra.

    Parameters
    ----------
    module
        What is imported, such as ``stormpy``.
    named
        The extra of this package that installs it.
    purpose
        What it is needed for, to begin the message with.

    Raises
    ------
    MissingDependency
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            # It is there; what it needs itself is not, and that is for its own message to say.
            raise
        raise MissingDependency(
            f"{purpose} needs {package}, which is not installed; pip install 'hcssp[{named}]'"
        ) from error
