"""The actions of `workbench lab`, one file each; their shared code is in `suites`."""
