"""The aggregate `MIN`."""

from workbench.tesla.extremes import extreme_row

ROW = extreme_row("MIN", "the least of them", min, rank=3)
