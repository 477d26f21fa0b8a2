"""Small problems about which something false was once said, or nothing at all; each with its check.

A check asks the methods and hears the referee: what it gives back is everything that is wrong, in words.
Nothing may be left open either, since a stranger with a pencil decides these problems.
"""

from __future__ import annotations

from collections.abc import Callable

from reproductions import odd_activities, sizes, slow_policies, used_up_bounds, waiting

CHECKS: dict[str, Callable[[], list[str]]] = {
    name.removeprefix("check_").replace("_", " "): check
    for module in (waiting, used_up_bounds, sizes, odd_activities, slow_policies)
    for name, check in vars(module).items()
    if name.startswith("check_")
}
"""By name."""
