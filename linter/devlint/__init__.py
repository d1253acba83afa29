"""devlint: proves device mismatches in PyTorch programs before they run."""

__version__ = "0.1.0"
