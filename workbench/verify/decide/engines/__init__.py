"""The engines of extensions, one file each with a `ROW` (`workbench.verify.decide.table`), found automatically."""

from workbench.extensions import extended

__path__.extend(extended("engines"))
