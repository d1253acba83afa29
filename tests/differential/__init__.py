"""Random programs, run by PyTorch and read by devlint: the two must not contradict each other.

`program` is what a program is made of, `expressions`, `statements` and `definitions` generate one, `comparison`
holds devlint's diagnostics against what happened, `shrink` makes a contradiction small.
"""
