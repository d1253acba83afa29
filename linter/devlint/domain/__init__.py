"""The abstract domain: what a value can be, and how two possibilities are joined. Standard library only."""
