"""The input and output of methods: plans, progress, stop criteria, endings."""

from __future__ import annotations
