"""Read rules of complex events: check, print and simplify them, and tell how they are run."""

from workbench.cli.help_pages import ActionTable

_ACTIONS = ActionTable("rules", ("check", "plan", "format", "simplify"))
options, execute = _ACTIONS.options, _ACTIONS.execute
