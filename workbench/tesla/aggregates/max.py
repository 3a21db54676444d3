"""The aggregate `MAX`."""

from workbench.tesla.extremes import extreme_row

ROW = extreme_row("MAX", "the greatest of them", max, rank=4)
