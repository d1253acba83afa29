"""Reports on findings, one file for each form."""
