"""Model checkers behind one interface: SMV text and queries in, verdicts and traces out.

This folder knows nothing about pipelines. `engine` has the data; `verify.decide.table` lists the engines.
"""
