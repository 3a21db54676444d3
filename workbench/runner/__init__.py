"""Run programs on logs: a log in, a log out."""
