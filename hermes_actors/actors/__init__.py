"""Behaviour that waits: thin shells around `pure/`, the store and the hooks."""
