"""Analyses: questions about a whole pipeline that have an answer rather than a truth value.

Each module answers one, from verdicts of `verify.check`, and says which of its parts are proved, within which bounds.
"""
