"""The backends, one file each with a `ROW` (`workbench.executors.table`), found automatically."""

from workbench.extensions import extension_folders

__path__.extend(extension_folders("backends"))
