"""Transfer functions: what a device signature cannot say. Each file says why its functions are needed.

Each file registers its functions in the tables of `devlint.analysis.transfer_tables`, where calls look them up.
"""
