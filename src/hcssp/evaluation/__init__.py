"""What a policy costs: exactly, by simulation, and whether it reaches a goal at all.

Nothing here is used to find a policy, so it can judge every solver.
"""

from __future__ import annotations

from hcssp.evaluation.chain import is_proper
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.records import Evaluation
from hcssp.evaluation.simulation import Simulation, narrate, simulate

__all__ = ["Evaluation", "Simulation", "evaluate", "is_proper", "narrate", "simulate"]
