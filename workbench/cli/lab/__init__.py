"""The actions of `workbench lab`, one file each; what several of them share is in `suites`."""
