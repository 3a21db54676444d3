"""What `workbench demo` writes: the verdicts on all models, as a page and as Markdown."""
