"""What every method is given and what it answers: plans, progress, stop criteria, endings."""

from __future__ import annotations
