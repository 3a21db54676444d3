"""Proofs by algebra: polynomial relations between the variables of a state, which hold for ever.

The size of numbers does not matter: `x * (x + y)` and `x * x + x * y` are one polynomial, whatever N is. Other engines
encode numbers as bits. Algebra proves and never refutes: what it cannot prove is left to the other engines.
"""
