"""The Lagrangian relaxation: the oracle a problem offers, and the dual that every bound comes from."""
