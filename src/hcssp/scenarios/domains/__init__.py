"""The built-in problems: one module for each domain, and what several of them share."""
