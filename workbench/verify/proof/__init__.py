"""Certificates: verdicts with proofs that others can check.

A certificate is an SMT-LIB script: the transition system of a question, an inductive invariant, and the conditions that
make it a proof, each of which a solver has to find unsatisfiable. `certificate` writes it, `check_certificate` confirms
it.

The rule of this package: whoever checks trusts no engine and nothing in the file but the invariant.
"""
