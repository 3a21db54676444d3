"""The commands, one file each, found automatically; their shared code is in the folder above.

The rule of this package: a command is a module with `options(parser)` and `execute(args) -> exit code`. The first line
of its docstring is its help, which is read without importing it, so that `workbench --help` starts fast.
"""

from workbench.cli.help_pages import help_line
from workbench.extensions import extension_folders, files

__path__.extend(extension_folders("commands"))


def helps() -> dict[str, str]:
    """Return the help line of every command."""
    return {name: _line(path) for name, path in files(__path__).items()}


def _line(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return help_line(file.readline().strip().strip('"'))
