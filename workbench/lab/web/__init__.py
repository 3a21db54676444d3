"""A web application for one person on this machine: suites, their progress, tables, plots, and the way back from each.

Its rules: it listens on the loopback interface only; it answers only requests addressed to it by that name, and changes
something only for a page of its own (`own_pages`); a request names suites, experiments, values of axes and ids that the
server knows already, never a path or code. Pages are made here (`pages`); scripts only show what they have.
"""
