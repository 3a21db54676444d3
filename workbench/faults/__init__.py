"""Faults at run time and in the model: the processors that let them happen, and where they come in (docs/faults.md)."""
