"""What plans and curves are, in terms of what is wanted: a cost to minimise, or a reward to maximise.

Of a reward, what a search calls a lower bound on what is missed is what no plan exceeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import TypeVar

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.cssp.model import FloatArray
from hcssp.evaluation.simulation import Simulation
from hcssp.procedure.aim import Aim
from hcssp.procedure.single import as_procedure
from hcssp.procedure.units import called
from hcssp.solving.trade_off import CurvePoint, TradeOff

AnySimulation = TypeVar("AnySimulation", bound=Simulation)


def own(plan: Plan) -> float:
    """What the plan has of what is wanted; infinitely bad without one."""
    return plan.upper_bound if plan.reward is None else plan.reward.value


def limit(plan: Plan) -> float:
    """What no plan is better than."""
    return plan.lower_bound if plan.reward is None else plan.reward.at_most


@dataclass(frozen=True, eq=False)
class JudgedCurve:
    """A trade-off curve in terms of what is wanted.

    Attributes
    ----------
    aim
        What is wanted.
    name
        What it is called, with its unit.
    breakpoints
        As of the curve, with the values of what is wanted.
    """

    aim: Aim
    name: str
    breakpoints: FloatArray

    @classmethod
    def of(cls, curve: TradeOff) -> JudgedCurve:
        """That of a curve."""
        aim = Aim.of(curve.problem)
        breakpoints = np.array(curve.breakpoints)
        if aim.greatest and len(breakpoints):
            breakpoints[:, 1] = judged(aim, breakpoints[:, 1].tolist())
        return cls(aim, called(as_procedure(curve.problem), aim.name), breakpoints)

    @property
    def best(self) -> str:
        """What is drawn, in words: ``least expected time``."""
        return f"{'greatest' if self.aim.greatest else 'least'} expected {self.name}"

    @property
    def worse(self) -> str:
        """On which side of what is proven no plan lies."""
        return "above" if self.aim.greatest else "below"

    @property
    def gains(self) -> str:
        """What more of a bound does."""
        return "gains" if self.aim.greatest else "saves"

    def stochastic(self, point: CurvePoint) -> float:
        """What plans that draw lots reach at a point; infinitely bad where the bound cannot be kept."""
        return self.aim.judged(point.stochastic)

    def limit(self, point: CurvePoint) -> float:
        """What no plan is better than at a point; the plan's own where nothing is proven."""
        proven = limit(point.plan)
        return proven if isfinite(proven) else own(point.plan)


def judged_runs(aim: Aim, runs: AnySimulation) -> AnySimulation:
    """Simulated runs with what people are told: what is wanted, then the other costs."""
    return replace(runs, totals=aim.matrix @ runs.totals, cost_names=aim.names, bounds=runs.bounds[aim.kept])


def judged(aim: Aim, costs: Iterable[float]) -> list[float]:
    """Primary costs in terms of what is wanted."""
    return [aim.judged(cost) for cost in costs]
