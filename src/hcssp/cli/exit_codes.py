"""What the command's exit code says; scripts rely on it."""

from __future__ import annotations

from hcssp.start import INTERRUPTED as INTERRUPTED

SOLVED = 0
NO_PLAN = 1
"""No feasible plan exists, or none was found in time, or the plan that was evaluated breaks its bounds, or
the proof that was checked does not hold; the message says which."""
BAD_INPUT = 2
"""What was asked for makes no sense, or what was to be written cannot be."""
FAULT = 3
"""A mistake of this program, which should be reported."""
BROKEN_PIPE = 141
"""Whoever read the output has gone: 128 + SIGPIPE, as from any other tool."""
