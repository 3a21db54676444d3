"""Rule sets on logs: their events, engines, sessions and facts, and what is asked of their runs."""
