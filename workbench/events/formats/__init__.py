"""The formats of logs, one file each with a `ROW` (`workbench.events.table`), found automatically."""

from workbench.extensions import extended

__path__.extend(extended("formats"))
