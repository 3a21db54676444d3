"""Run suites of experiments, and report on them with the origin of every number."""

from workbench.cli.actions import ActionTable

_ACTIONS = ActionTable("lab", ("list", "run", "report", "show", "compare", "serve"))
options, execute = _ACTIONS.options, _ACTIONS.execute
