"""What the mode sharp does beyond the paper; the mode published uses nothing of it."""

from __future__ import annotations
