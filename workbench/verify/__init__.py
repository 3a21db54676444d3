"""Verification: what is asked of pipelines, how it is decided, and what is answered."""
