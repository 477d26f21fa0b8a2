"""Plans for constrained stochastic shortest path problems, single and hierarchical.

A plan minimises one expected cost under bounds on other expected costs. Every plan has a proven interval
around the optimum, and is evaluated by code that no solver uses.

The names are listed in ``__init__.pyi`` and imported when they are first used, so that ``import hcssp`` stays
fast. Names for code that extends the library are in :mod:`hcssp.extend`.
"""

from __future__ import annotations

from hcssp.start import begin_command, is_command

if is_command():
    # Before other imports, so that an early Ctrl-C is handled.
    begin_command()

import logging

from hcssp.lazy import attach
from hcssp.version import __version__

__getattr__, __dir__, _names = attach(__name__, __file__)
__all__ = ["__version__", *_names]

logging.getLogger(__name__).addHandler(logging.NullHandler())
