"""A compiled pipeline for each key of a log: one loop over all rows, each of which steps the state of its key."""
