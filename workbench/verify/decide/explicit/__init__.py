"""An explicit-state engine of our own: the reachable states of a system, one by one, breadth-first.

It shares with the SMV engines neither the printed text nor their code, so that each checks the other. It gives
shortest counterexamples and exact counts, and suits models with some million states and few moves.
"""
