"""The actions of `workbench rules`, one file each."""
