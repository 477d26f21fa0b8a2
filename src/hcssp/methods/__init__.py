"""The methods: each turns a problem into a generator of progress."""

from __future__ import annotations
