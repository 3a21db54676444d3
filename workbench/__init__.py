"""workbench: formal verification and simulation of event-stream pipelines."""

__version__ = "0.1.0"
