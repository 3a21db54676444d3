"""The engines of extensions, one file each with a `ROW` (`workbench.verify.decide.table`), found automatically."""

from workbench.extensions import extension_folders

__path__.extend(extension_folders("engines"))
