"""What every method is given and what it answers: progress, stop criteria, results."""

from __future__ import annotations
