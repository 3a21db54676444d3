"""Proofs by algebra: polynomial relations between the variables of a state, which hold for ever.

Numbers cost nothing here: `x * (x + y)` and `x * x + x * y` are one polynomial, whatever N is. The other engines know
numbers as bits. It proves and never refutes: what it cannot prove is left to them.
"""
