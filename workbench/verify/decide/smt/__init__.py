"""Engines that use z3: systems as linear integer arithmetic and Booleans, so that the size of numbers does not matter.

The rule of this folder: z3 is imported when an engine has its turn, and nothing that z3 finds is believed without a
check: counterexamples are run by `decide.runs`, and candidates for invariants are proved.
"""
