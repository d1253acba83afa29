"""devlint on packages that nobody wrote for it: every diagnostic is read once and filed as true or false."""
