"""devlint on bugs that people shipped and mended: found in the commit before the fix, gone in the fix."""
