"""Problems that are worth solving, ready made: ``hcssp.scenarios.rover(stops=5)``."""

from __future__ import annotations

from hcssp.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
