"""Known bugs, put back one by one: a test suite that does not notice them is decoration.

`python -m tests.sabotage [words…]` breaks a copy of the source tree in one place at a time and runs
the tests that must notice. Words choose the breaks whose reason or file contains them.
"""
