"""The policies of caches, one file each with a `ROW` (`workbench.tesla.caches.table`), found automatically."""

from workbench.extensions import extended

__path__.extend(extended("cache_policies"))
