"""Rules as data: a rule set becomes tables, and one kernel interprets the tables of every rule set."""
