"""Read rules of complex events: check, print and simplify them, and show their plan."""

from workbench.cli.actions import ActionTable

_ACTIONS = ActionTable("rules", ("check", "plan", "format", "simplify"))
options, execute = _ACTIONS.options, _ACTIONS.execute
