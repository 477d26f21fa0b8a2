"""What the command's exit code says; scripts rely on it."""

from __future__ import annotations

SOLVED = 0
NO_PLAN = 1
"""No feasible plan exists, or none was found in time, or the plan that was evaluated breaks its bounds, or
the proof that was checked does not hold; the message says which."""
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Whoever read the output has gone: 128 + SIGPIPE, as from any other tool."""
