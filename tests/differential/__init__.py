"""Random programs, run by PyTorch and read by devlint: the two must not contradict each other.

`program` is what a program is made of, `expressions` (by the table in `forms`), `statements` and `definitions` generate
one, `mutations` takes something away from one that works, `batch` runs many, `comparison` holds devlint's diagnostics
against what happened, `shrink` makes a contradiction small.
"""
