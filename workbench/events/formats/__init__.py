"""The formats of logs, one file each with a `ROW` (`workbench.events.table`), found automatically."""

from workbench.extensions import extension_folders

__path__.extend(extension_folders("formats"))
