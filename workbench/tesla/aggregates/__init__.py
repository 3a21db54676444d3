"""The aggregates of the language, one file each with a `ROW` (`workbench.tesla.aggregate`), found automatically."""

from workbench.extensions import extension_folders

__path__.extend(extension_folders("aggregates"))
