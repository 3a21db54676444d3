"""The policies of caches, one file each with a `ROW` (`workbench.tesla.caches.table`), found automatically."""

from workbench.extensions import extension_folders

__path__.extend(extension_folders("cache_policies"))
