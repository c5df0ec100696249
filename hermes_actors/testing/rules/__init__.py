"""The invariants, grouped by what they are about. Pure functions: a log in, violations out."""
