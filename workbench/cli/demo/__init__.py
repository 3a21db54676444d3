"""The report of `workbench demo`: the verdicts on all models, as a page and as Markdown."""
