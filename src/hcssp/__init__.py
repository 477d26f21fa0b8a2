"""Plans for constrained stochastic shortest path problems, single and hierarchical.

A plan minimises one expected cost while others stay within their budgets, each in expectation. Every
answer carries a proven interval around the optimum and is evaluated by code that no solver uses.

The names are listed in ``__init__.pyi`` and imported when they are first used, so that ``import hcssp`` stays
fast. What extends the library is in :mod:`hcssp.extend`.
"""

from __future__ import annotations

from hcssp.start import begin_command, is_command

if is_command():
    # Before anything else is imported, which takes longer than a user who changes their mind.
    begin_command()

import logging

from hcssp.lazy import attach
from hcssp.version import __version__

__getattr__, __dir__, _names = attach(__name__, __file__)
__all__ = ["__version__", *_names]

logging.getLogger(__name__).addHandler(logging.NullHandler())
