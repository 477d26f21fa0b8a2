"""Small mistakes, planted one by one: a test suite that notices none of them protects nothing."""

from __future__ import annotations
