"""One change of the user's lines that mends an error.

* `edits`: a line with an expression changed; the file stays valid Python.
* `device_expressions`: which expression names a device at a line.
* `astray`: the value that a change is for.
* `left_behind`: modules and their tensors that a move has left where they were.
* `resumed`: states of optimizers.
* `companions`: the other values that the same change has to reach.
* `at_cause`: the changes at the recorded cause.
* `candidates`: all changes that may mend, the best first.
"""
