"""A web application for one person on this machine: suites, their progress, tables and plots, with links to results.

Its rules: it listens on the loopback interface only, answers only requests to an address of that interface, and allows
changes only from its own pages (`access_control`). A request names suites, experiments, values of axes and ids that the
server knows already, never a path or code. The server renders the pages (`pages`); scripts only show their contents.
"""
