"""The aggregates of the language, one file each with a `ROW` (`workbench.tesla.aggregate`), found automatically."""

from workbench.extensions import extended

__path__.extend(extended("aggregates"))
