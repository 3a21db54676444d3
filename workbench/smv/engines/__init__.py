"""Model checkers behind one interface: SMV text and queries in, verdicts and traces out.

Here and below nothing is known of pipelines. `engine` has the data; `verify.decide.table` knows which there are.
"""
