"""One execution of a body: instructions change the state of a frame.

`statements` has the table of instructions; `expressions`, `branches`, `loops` and `definitions` what they do. An
instruction that computes something writes a register, one with blocks executes them, and where two paths meet the
states are joined. Nothing here judges, words or reports.
"""
