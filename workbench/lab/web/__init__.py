"""A web application for one person on this machine: suites, their progress, tables and plots, with links to results.

Its rules: it listens on the loopback interface only; it answers only requests addressed to it by that name, and allows
changes only from its own pages (`own_pages`); a request names suites, experiments, values of axes and ids that the
server knows already, never a path or code. The server renders the pages (`pages`); scripts only show their contents.
"""
