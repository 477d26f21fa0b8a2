"""The front door: run a method until it is time to stop, under one bound or along a curve of them."""

from __future__ import annotations
