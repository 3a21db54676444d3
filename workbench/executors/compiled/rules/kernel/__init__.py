"""The functions that interpret the tables of a rule set: plain Python, which numba can compile as it is."""
