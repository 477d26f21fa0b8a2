"""Ready-made problems so small that a test can afford to write and read them as files.

Left out are those whose files are tables of thousands of rows (the others have states of the same kinds), and
`aircraft`, which has tables only.
"""

from __future__ import annotations

from collections.abc import Mapping

from hcssp.scenarios.scenario import scenarios

_TINIER = {
    "delivery": {"width": 4, "height": 3, "battery": 4, "loss": 1.0},
    "elevators": {"rushes": 1, "floors": 2, "people": 1},
    "search-and-rescue": {"areas": 1, "width": 4, "height": 3, "hideouts": 1},
}

TINY: dict[str, Mapping[str, int | float]] = {
    name: _TINIER.get(name, scenario.small)
    for name, scenario in scenarios().items()
    if name not in ("aircraft", "racetrack", "routing")
}
"""Settings of parameters, by the problem's name."""
