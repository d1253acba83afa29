"""One change of the user's lines that mends an error.

* `edits`: a line with an expression changed; the file stays valid Python.
* `device_expressions`: which expression names a device at a line.
* `left_behind`: the value that a change is for, and modules, tensors and states of optimizers that a move has left.
* `at_cause`: the changes at the recorded cause.
* `candidates`: all changes that may mend, the best first.
"""
