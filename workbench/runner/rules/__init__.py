"""Run rule sets on logs: events, engines, sessions, facts, and explanations of runs."""
