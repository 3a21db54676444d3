"""The backends, one file each with a `ROW` (`workbench.executors.table`), found automatically."""

from workbench.extensions import extended

__path__.extend(extended("backends"))
