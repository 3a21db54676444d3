"""The engines of rules, one file each with a `ROW` (`workbench.tesla.engines.table`), found automatically."""

from workbench.extensions import extended

__path__.extend(extended("rule_engines"))
