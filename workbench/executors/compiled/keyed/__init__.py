"""A compiled pipeline for each key of a log: one loop over all rows, in which each steps its own key's state."""
