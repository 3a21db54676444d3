"""Pipelines over Spark data: a pipeline per key, in batch and as a stream, and the sessions for it."""
