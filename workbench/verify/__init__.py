"""Verification: properties of pipelines, the engines that decide them, and the answers."""
