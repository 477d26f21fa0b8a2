"""The costs of a policy: exact and simulated, and whether it reaches a goal.

Nothing here is used to find a policy, so it can judge every solver.
"""

from __future__ import annotations

from hcssp.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
