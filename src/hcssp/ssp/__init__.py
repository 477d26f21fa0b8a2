"""Unconstrained stochastic shortest path problems: the scalar problem every method comes down to."""
