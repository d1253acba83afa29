"""The analysis that reports what is manifest."""
