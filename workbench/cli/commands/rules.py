"""Read rules of complex events: check, print and simplify them, and show how they are run."""

from workbench.cli.actions import ActionTable

_ACTIONS = ActionTable("rules", ("check", "plan", "format", "simplify"))
options, execute = _ACTIONS.options, _ACTIONS.execute
