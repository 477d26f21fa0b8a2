"""Anytime search: progress, stop criteria, the best-first engine and the one result type."""
