"""Run suites of experiments, and report on them with a link from every number to its measurements."""

from workbench.cli.actions import ActionTable

_ACTIONS = ActionTable("lab", ("list", "run", "report", "show", "compare", "serve"))
options, execute = _ACTIONS.options, _ACTIONS.execute
