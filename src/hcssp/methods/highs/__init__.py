"""The baselines on the flattened problem, by HiGHS: its linear and its mixed-integer program."""

from __future__ import annotations
