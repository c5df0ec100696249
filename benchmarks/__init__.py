"""How fast and how small: `make bench`, or `make bench ARGS="actors store"` for some of it.

A subject is a module with a function `measure(size)` that yields results. Every result says what
it was compared with in the same run. `subjects.py` is the list; docs/benchmarks.md explains each.
"""
